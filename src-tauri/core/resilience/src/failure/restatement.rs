//! Repairs a misleading status before anything reads it (resilience specification, 18).
//!
//! Some gateways report a quota that will be back in a minute with a status that says "never". The status is corrected
//! first, so that classification, combos and the client all see what it really was. A text that names a lasting refusal
//! beside the marker is left alone.

/// A provider's habit of reporting one thing as another.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restatement {
    pub id: String,
    pub from_statuses: Vec<u16>,
    pub to_status: u16,
    /// One of them must occur in message or body, in any case.
    pub text_markers: Vec<String>,
    /// None of them may.
    #[serde(default)]
    pub exclude_markers: Vec<String>,
    /// What the client is told when the upstream announced no wait; milliseconds.
    pub default_retry_after_ms: Option<u64>,
}

/// The first habit that explains a reply. `text` is lower case.
pub fn apply<'a>(habits: &'a [Restatement], status: u16, text: &str) -> Option<&'a Restatement> {
    let occurs = |marker: &String| text.contains(&marker.to_lowercase());
    habits.iter().find(|habit| {
        habit.from_statuses.contains(&status)
            && habit.text_markers.iter().any(occurs)
            && !habit.exclude_markers.iter().any(occurs)
    })
}

/// Statuses by which servers note that their client has gone: nginx's, which is also Google's for `CANCELLED`, and that of
/// Amazon's load balancers.
const CLIENT_HAS_GONE: [u16; 2] = [499, 460];

/// The status as it can be believed. Ours was still there when the reply came, so one that says that the client has gone tells
/// of a fault on the upstream's own way, as any broken gateway does (gateway specification, 1.8: 499 is never sent).
pub fn believed(status: u16) -> u16 {
    if CLIENT_HAS_GONE.contains(&status) { 502 } else { status }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_upstream_is_believed_that_the_client_has_gone() {
        for (status, believed_to_be) in [(499, 502), (460, 502), (498, 498), (500, 500), (429, 429), (400, 400)] {
            assert_eq!(believed(status), believed_to_be, "{status}");
        }
    }

    #[test]
    fn a_status_is_restated_only_for_what_the_rule_names() {
        let habits = [
            Restatement {
                id: "quota".to_owned(),
                from_statuses: vec![403, 400],
                to_status: 429,
                text_markers: vec!["额度不足".to_owned(), "Quota Dry".to_owned()],
                exclude_markers: vec!["无权访问".to_owned()],
                default_retry_after_ms: Some(60_000),
            },
            Restatement {
                id: "second".to_owned(),
                from_statuses: vec![403],
                to_status: 503,
                text_markers: vec!["quota dry".to_owned()],
                exclude_markers: Vec::new(),
                default_retry_after_ms: None,
            },
        ];
        for (status, text, found) in [
            (403, "用户额度不足", Some("quota")), // SR-01
            (400, "用户额度不足", Some("quota")), // SR-02
            (403, "the quota dry", Some("quota")),
            (403, "无权访问模型", None), // SR-04
            (403, "额度不足, 无权访问模型", None),
            (403, "quota dry, 无权访问模型", Some("second")),
            (500, "额度不足", None), // SR-06
            (403, "no", None),
        ] {
            let habit = apply(&habits, status, text).map(|habit| habit.id.as_str());
            assert_eq!(habit, found, "{status} {text}");
        }
        assert_eq!(apply(&[], 403, "额度不足"), None); // SR-05
    }
}
