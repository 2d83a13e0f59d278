//! What a set of lengths of time comes to.

use domain::Millis;

/// The smallest length, in milliseconds, that is at least as long as this share of all. Puts them in order; none when
/// there are none.
pub(crate) fn percentile(lengths: &mut [Millis], percent: usize) -> Option<u64> {
    lengths.sort_unstable();
    let rank = (lengths.len() * percent).div_ceil(100);
    lengths.get(rank.saturating_sub(1)).map(|length| length.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_length_that_was_seen() {
        assert_eq!(percentile(&mut [], 50), None);
        let mut lengths: Vec<Millis> = (1..=10).rev().map(|n| Millis::new(n * 10)).collect();
        assert_eq!((percentile(&mut lengths, 50), percentile(&mut lengths, 95)), (Some(50), Some(100)));
        assert_eq!(percentile(&mut [Millis::new(7)], 1), Some(7));
    }
}
