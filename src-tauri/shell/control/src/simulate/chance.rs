//! Chance that can be repeated: what happens in a run depends on its seed and on nothing that the run does.

use domain::Candidate;

/// A number that depends on the seed and on the question alone: in both runs of a replay the same request gets the same answer
/// from the same account, the first time as the second.
pub(super) fn chance(seed: u64, story: usize, candidate: &Candidate, times: u32) -> u64 {
    let words = [candidate.provider.as_str(), candidate.model.as_str(), candidate.connection.as_str()];
    let numbers = [u64::try_from(story).unwrap_or(u64::MAX), u64::from(times)];
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
    let folded = bytes.fold(seed, |mixed, byte| mix(mixed ^ u64::from(byte)));
    numbers.into_iter().fold(folded, |mixed, number| mix(mixed ^ number))
}

/// One step of SplitMix64: every bit of the input moves every bit of the output.
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
