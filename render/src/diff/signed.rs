//! Differences of figures, with their signs.

use serde_json::Value;

use crate::units::{Units, format_bytes, format_count};

/// Bytes in the largest unit that leaves a number of at least 1: `+12.5 MiB`; `0 B` for none.
pub(crate) fn signed_bytes(bytes: i128, units: Units) -> String {
    sign(bytes).to_owned() + &format_bytes(size(bytes), units)
}

/// A count with its digits in groups of three: `-1,834`.
pub(crate) fn signed_count(n: i128) -> String {
    sign(n).to_owned() + &format_count(size(n))
}

/// A change as a percentage of what was there: `+12.5%`, with one decimal; a dash if nothing was there.
pub(crate) fn signed_percent(change: i128, base: u64) -> String {
    if change == 0 {
        return "0.0%".to_owned();
    }
    if base == 0 {
        return "–".to_owned();
    }
    let base = u128::from(base);
    let tenths = (change.unsigned_abs() * 1000 + base / 2) / base;
    format!("{}{}.{}%", sign(change), tenths / 10, tenths % 10)
}

/// A number of JSON; what 64 bits do not hold, which no real capture reaches, is the next one that they do.
pub(crate) fn json_number(n: i128) -> Value {
    let nearest = if n < 0 { i64::MIN } else { i64::MAX };
    i64::try_from(n).unwrap_or(nearest).into()
}

fn sign(n: i128) -> &'static str {
    match n {
        ..0 => "-",
        0 => "",
        1.. => "+",
    }
}

fn size(n: i128) -> u64 {
    u64::try_from(n.unsigned_abs()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign_and_nothing_has_none() {
        assert_eq!(signed_bytes(-1536, Units::Iec), "-1.5 KiB");
        assert_eq!(signed_bytes(1536, Units::Si), "+1.5 kB");
        assert_eq!(signed_bytes(0, Units::Iec), "0 B");
        assert_eq!(signed_count(-1_234_567), "-1,234,567");
        assert_eq!(signed_percent(125, 1000), "+12.5%");
        assert_eq!(signed_percent(-1, 3), "-33.3%");
        assert_eq!(signed_percent(5, 0), "–");
        assert_eq!(signed_percent(0, 0), "0.0%");
        let most = i128::from(u64::MAX);
        assert_eq!(signed_percent(-most, 1), format!("-{most}00.0%"));
        assert_eq!(json_number(-most), json_number(i128::from(i64::MIN)));
    }
}
