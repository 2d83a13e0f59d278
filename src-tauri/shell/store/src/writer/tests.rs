use super::batch::statements;
use super::*;

#[test]
fn attempts_become_rarer_down_to_two_a_minute() {
    let waits = std::iter::successors(Some(longer(None)), |wait| Some(longer(Some(*wait))));
    let millis: Vec<u64> = waits.take(10).map(Millis::as_millis).collect();
    assert_eq!(millis, [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
}

#[test]
fn records_go_into_few_statements_in_their_order() {
    let records: Vec<usize> = (0..146).collect();
    let groups: Vec<&[usize]> = statements(&records).collect();
    assert_eq!(groups.iter().map(|group| group.len()).collect::<Vec<_>>(), [128, 16, 1, 1]);
    assert_eq!(groups.concat(), records);
}

#[test]
fn a_reason_names_every_cause() {
    let error = Error::File { action: "open", path: "x".into(), source: std::io::Error::other("disk is gone") };
    assert_eq!(chain(&error), "could not open x: disk is gone");
}
