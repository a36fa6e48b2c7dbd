//! Bytes, counts and times as people read them.

/// Which multiples bytes are shown in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Units {
    /// Powers of 1024: KiB, MiB.
    #[default]
    Iec,
    /// Powers of 1000: kB, MB.
    Si,
}

/// Bytes in the largest unit that leaves a number of at least 1, with one decimal: `12.5 MiB`.
#[must_use]
pub fn format_bytes(bytes: u64, units: Units) -> String {
    let (base, names) = match units {
        Units::Iec => (1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]),
        Units::Si => (1000, ["B", "kB", "MB", "GB", "TB", "PB", "EB"]),
    };
    // Tenths of the unit, rounded, decide: 1023.96 KiB reads as 1.0 MiB.
    let tenths = |unit: u128| (u128::from(bytes) * 10 + unit / 2) / unit;
    let mut unit = 1_u128;
    let mut names = names.into_iter().peekable();
    while let Some(name) = names.next() {
        if unit == 1 && bytes < base {
            return format!("{bytes} {name}");
        }
        let n = tenths(unit);
        if unit > 1 && (n < u128::from(base) * 10 || names.peek().is_none()) {
            return format!("{}.{} {name}", n / 10, n % 10);
        }
        unit *= u128::from(base);
    }
    format!("{bytes} B")
}

/// A count with its digits in groups of three: `1,834,211`.
#[must_use]
pub fn format_count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration in seconds to the millisecond, or in minutes and seconds from a minute on.
#[must_use]
pub fn format_duration(ms: u64) -> String {
    if ms < 60_000 {
        return format!("{}.{:03} s", ms / 1000, ms % 1000);
    }
    let seconds = ms / 1000;
    if seconds < 3600 {
        return format!("{}:{:02} min", seconds / 60, seconds % 60);
    }
    format!(
        "{}:{:02}:{:02} h",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_the_largest_fitting_unit() {
        let iec = |bytes| format_bytes(bytes, Units::Iec);
        assert_eq!([iec(0), iec(1023), iec(1024)], ["0 B", "1023 B", "1.0 KiB"]);
        assert_eq!([iec(1_048_575), iec(12_870_000)], ["1.0 MiB", "12.3 MiB"]);
        assert_eq!(iec(u64::MAX), "16.0 EiB");
        assert_eq!(format_bytes(51_200, Units::Si), "51.2 kB");
    }

    #[test]
    fn counts_and_durations_read_easily() {
        assert_eq!(
            [format_count(7), format_count(1_834_211)],
            ["7", "1,834,211"]
        );
        assert_eq!(
            [format_duration(1234), format_duration(61_000)],
            ["1.234 s", "1:01 min"]
        );
        assert_eq!(format_duration(3_725_000), "1:02:05 h");
    }
}
