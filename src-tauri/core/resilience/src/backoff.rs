//! Doubling, shared by everything that waits longer after each failure.
//!
//! `base × 2^steps`, at most `ceiling`. The arithmetic saturates, so neither a hostile base nor an absurd number of steps
//! can wrap around into a short wait.

use domain::Millis;

/// No rest, announced or not, is longer than this (resilience specification, 5.4).
pub const LONGEST_REST: Millis = Millis::days(30);

/// `base` doubled `steps` times, at most `ceiling`.
pub const fn doubled(base: Millis, steps: u32, ceiling: Millis) -> Millis {
    let factor = match 1_u64.checked_shl(steps) {
        Some(factor) => factor,
        None => u64::MAX,
    };
    let length = base.as_millis().saturating_mul(factor);
    if length > ceiling.as_millis() { ceiling } else { Millis::new(length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_doubles_up_to_its_ceiling_and_never_wraps() {
        let (second, hour) = (Millis::seconds(1), Millis::hours(1));
        for (base, steps, ceiling, expected) in [
            (second, 0, hour, second),
            (second, 3, hour, Millis::seconds(8)),
            (second, 12, hour, hour),
            (second, 63, hour, hour),
            (second, u32::MAX, hour, hour),
            (Millis::MAX, 1, Millis::MAX, Millis::MAX),
            (Millis::ZERO, u32::MAX, hour, Millis::ZERO),
            (hour, 0, second, second),
        ] {
            assert_eq!(doubled(base, steps, ceiling), expected, "{base} × 2^{steps} ≤ {ceiling}");
        }
    }
}
