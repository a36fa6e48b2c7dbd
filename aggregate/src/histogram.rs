//! How allocations are spread over sizes.

/// Number of bins.
const N_BINS: u8 = 10;

/// Allocations whose size lies between two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bin {
    /// Smallest size, in bytes.
    pub min_bytes: u64,
    /// Largest size, in bytes. The last bin also has sizes that are above it by rounding.
    pub max_bytes: u64,
    /// Number of allocations.
    pub allocations: u64,
}

/// Bins of equal width on a logarithmic scale, from the smallest size but 0 to the largest; 0 is in the
/// first. No bin without allocations, and one where the sizes leave no room for more.
///
/// * `sizes`: distinct sizes ascending, each with its number of allocations
/// * Source: `semantics.md`, section 8.1
pub(crate) fn histogram(sizes: &[(u64, u64)]) -> Vec<Bin> {
    let Some(&(largest, _)) = sizes.last() else {
        return Vec::new();
    };
    if largest <= 1 {
        return vec![Bin {
            min_bytes: 0,
            max_bytes: largest,
            allocations: sizes.iter().map(|&(_, count)| count).sum(),
        }];
    }
    let smallest = sizes.iter().map(|&(size, _)| size).find(|&size| size > 0);
    let high = ln(largest);
    let mut low = ln(smallest.unwrap_or(largest));
    // They are equal exactly if the sizes have one logarithm.
    if low >= high {
        low /= 2.0;
    }
    let step = (high - low) / f64::from(N_BINS);
    let bound = |bin: u8| truncated((low + step * f64::from(bin)).exp());
    let mut bins: Vec<Bin> = (0..N_BINS)
        .map(|bin| Bin {
            min_bytes: if bin == 0 { 0 } else { bound(bin) },
            max_bytes: bound(bin + 1).saturating_sub(u64::from(bin + 1 < N_BINS)),
            allocations: 0,
        })
        .collect();
    for &(size, count) in sizes {
        let bin = if size == 0 {
            0
        } else {
            index(floor_div(ln(size) - low, step)).min(usize::from(N_BINS) - 1)
        };
        if let Some(bin) = bins.get_mut(bin) {
            bin.allocations += count;
        }
    }
    bins
}

#[expect(
    clippy::cast_precision_loss,
    reason = "sizes above 2^53 are rounded, as in memray"
)]
fn ln(size: u64) -> f64 {
    (size as f64).ln()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is that of a size, rounded; what is too large saturates"
)]
fn truncated(value: f64) -> u64 {
    value as u64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is a small whole number"
)]
fn index(value: f64) -> usize {
    value as usize
}

/// Python's `//` for numbers that are not negative. At multiples of `y` it is not the floor of `x / y`.
fn floor_div(x: f64, y: f64) -> f64 {
    let quotient = (x - x % y) / y;
    let floor = quotient.floor();
    if quotient - floor > 0.5 {
        floor + 1.0
    } else {
        floor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bins(sizes: &[(u64, u64)]) -> Vec<(u64, u64, u64)> {
        let bins = histogram(sizes).into_iter();
        bins.map(|bin| (bin.min_bytes, bin.max_bytes, bin.allocations))
            .collect()
    }

    #[test]
    fn few_sizes_make_one_bin_or_none() {
        assert_eq!(bins(&[]), []);
        assert_eq!(bins(&[(0, 7)]), [(0, 0, 7)]);
        assert_eq!(bins(&[(1, 3)]), [(0, 1, 3)]);
        assert_eq!(bins(&[(0, 7), (1, 3)]), [(0, 1, 10)]);
    }

    /// Expected values are those of Python's arithmetic.
    #[test]
    fn one_size_is_in_the_last_bin() {
        let bins = bins(&[(1024, 5)]);
        assert_eq!(bins[0], (0, 44, 0));
        assert_eq!(bins[9], (724, 1024, 5));
    }

    /// Sizes at the bounds of bins, where flooring the quotient would put some elsewhere.
    #[test]
    fn powers_of_two_lie_where_memray_puts_them() {
        let sizes: Vec<(u64, u64)> = (0..=10).map(|power| (1 << power, 1)).collect();
        let bins = bins(&sizes);
        let counts: Vec<u64> = bins.iter().map(|bin| bin.2).collect();
        assert_eq!(counts, [1, 1, 2, 0, 1, 2, 1, 0, 1, 2]);
        let last_sizes: Vec<u64> = bins.iter().map(|bin| bin.1).collect();
        assert_eq!(last_sizes, [1, 3, 6, 14, 31, 62, 126, 254, 510, 1024]);
    }

    #[test]
    fn the_largest_sizes_have_a_place() {
        let bins = bins(&[(1, 1), (u64::MAX, 2)]);
        assert_eq!(bins[0], (0, 83, 1));
        assert_eq!(
            bins[9],
            (218_437_778_052_336_064, 18_446_744_073_709_524_992, 2)
        );
    }

    proptest! {
        #[test]
        fn every_allocation_is_in_one_bin(
            sizes in prop::collection::btree_map(
                prop_oneof![0..300_u64, 1000..3000_u64, any::<u64>()], 1..9_u64, 0..30
            )
        ) {
            let sizes: Vec<(u64, u64)> = sizes.into_iter().collect();
            let bins = histogram(&sizes);
            let all: u64 = sizes.iter().map(|&(_, count)| count).sum();
            prop_assert_eq!(bins.iter().map(|bin| bin.allocations).sum::<u64>(), all);
            for pair in bins.windows(2) {
                // Narrow bins may be empty.
                prop_assert!(pair[0].min_bytes <= pair[1].min_bytes);
                prop_assert!(pair[0].max_bytes <= pair[1].max_bytes);
            }
        }
    }
}
