//! Laws: where the network cuts a stream changes nothing, a splice changes one value, and no input is too strange.

mod support;

use bytes::Bytes;
use dialects::{Framing, GlanceError, error, glance, inspect, splice};
use domain::{Dialect, Operation};
use proptest::prelude::*;

fn joined(frames: &[dialects::Frame]) -> Vec<u8> {
    frames.iter().flat_map(|frame| frame.raw.iter().copied()).collect()
}

fn cut_at(bytes: &Bytes, mut cuts: Vec<usize>) -> Vec<Bytes> {
    cuts.retain(|cut| *cut <= bytes.len());
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| bytes.slice(pair[0]..pair[1])).collect()
}

#[test]
fn a_stream_cut_at_any_byte_gives_the_same_frames_and_loses_none() {
    for golden in support::goldens() {
        let whole = support::frames(golden.framing, [golden.bytes.clone()]);
        assert_eq!(joined(&whole), golden.bytes, "{}/{}", golden.dialect, golden.case);
        for cut in 0..=golden.bytes.len() {
            let frames = support::frames(golden.framing, cut_at(&golden.bytes, vec![cut]));
            assert_eq!(frames, whole, "{}/{} cut at {cut}", golden.dialect, golden.case);
        }
        let single = (0..golden.bytes.len()).collect();
        assert_eq!(support::frames(golden.framing, cut_at(&golden.bytes, single)), whole, "{}", golden.case);
    }
}

#[test]
fn a_stream_broken_off_at_any_byte_never_ends_well_by_accident() {
    for golden in support::goldens() {
        let (complete, _) = support::events(golden.dialect, &support::frames(golden.framing, [golden.bytes.clone()]));
        for end in 0..golden.bytes.len() {
            let frames = support::frames(golden.framing, [golden.bytes.slice(..end)]);
            let (events, _) = support::events(golden.dialect, &frames);
            let terminals = events
                .iter()
                .filter(|event| matches!(event, dialects::Event::Finished(_) | dialects::Event::Failed(_)));
            assert_eq!(terminals.count(), 1, "{}/{} ended at {end}", golden.dialect, golden.case);
            let finishes = events.iter().any(|event| matches!(event, dialects::Event::Finished(_)));
            let may_finish = complete.iter().any(|event| matches!(event, dialects::Event::Finished(_)));
            assert!(!finishes || may_finish, "{}/{} ended at {end}", golden.dialect, golden.case);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn random_chunks_give_the_same_frames_and_events(cuts in prop::collection::vec(0_usize..6000, 0..40)) {
        for golden in support::goldens() {
            let whole = support::frames(golden.framing, [golden.bytes.clone()]);
            let frames = support::frames(golden.framing, cut_at(&golden.bytes, cuts.clone()));
            prop_assert_eq!(&frames, &whole);
            let told = support::events(golden.dialect, &frames).0;
            prop_assert_eq!(told, support::events(golden.dialect, &whole).0);
        }
    }

    #[test]
    fn any_text_is_framed_without_loss_at_any_split(
        text in "([a-z:{}\\[\\]\", ]|data: |event: |\\r|\\n|\\r\\n|\u{feff}|\\\\){0,40}",
        cuts in prop::collection::vec(0_usize..80, 0..6),
    ) {
        let bytes = Bytes::from(text);
        for framing in [Framing::Sse, Framing::JsonArray, Framing::JsonLines] {
            let whole = support::frames(framing, [bytes.clone()]);
            prop_assert_eq!(joined(&whole), bytes.to_vec());
            prop_assert_eq!(support::frames(framing, cut_at(&bytes, cuts.clone())), whole.clone());
            for dialect in Dialect::ALL {
                support::events(dialect, &whole);
            }
        }
    }

    #[test]
    fn splicing_a_model_changes_that_value_alone(
        before in any::<String>(), model in any::<String>(), after in any::<String>(), space in "[ \\n\\t]{0,3}",
    ) {
        let json = |text: &str| serde_json::to_string(text).unwrap();
        let head = format!("{{{space}\"messages\":[{{\"model\":{}}}],\"model\"{space}:{space}", json(&before));
        let tail = format!("{space},\"z\":{}{space}}}", json(&after));
        let body = Bytes::from(format!("{head}\"old\"{tail}"));
        let found = glance(Operation::ChatCompletions, &body).unwrap();
        let mut edits: Vec<_> = dialects::model_edit(&found, &model).into_iter().collect();
        let spliced = splice(&body, &mut edits);
        prop_assert!(spliced.starts_with(head.as_bytes()) && spliced.ends_with(tail.as_bytes()));
        let again = glance(Operation::ChatCompletions, &spliced).unwrap();
        prop_assert_eq!(again.model, Some(model));
    }

    #[test]
    fn a_glance_accepts_what_serde_accepts(text in "([{}\\[\\],:\"\\\\ ]|model|true|null|-?[0-9]{1,3}|1e5|\\\\u00e9|\n){0,24}") {
        let accepted = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text).is_ok();
        let found = glance(Operation::GenerateContent, text.as_bytes());
        prop_assert_eq!(found.is_ok(), accepted, "{:?}", found);
    }

    #[test]
    fn no_text_breaks_a_reader_or_leaves_it_unsanitised(
        text in "([a-zé€:/\\\\@.?=&<>{}\\[\\]\", -]|sk-|Bearer |key=|://|data:|/home/|C:\\\\|~/|error|message|\n){0,40}",
    ) {
        let clean = error::sanitize(&text);
        prop_assert!(!clean.contains('\n') && clean.chars().count() <= 4096);
        prop_assert!(!clean.contains("/home/x") && !clean.contains("sk-abcdefgh"));
        error::read(500, text.as_bytes());
        error::read_in_stream(text.as_bytes());
        for operation in [Operation::ChatCompletions, Operation::Responses, Operation::Messages, Operation::GenerateContent] {
            inspect(operation, text.as_bytes());
        }
    }

    #[test]
    fn every_prefix_of_a_body_is_refused_with_a_place(cut in 0_usize..120) {
        let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"a\u00e9"}],"n":-1.5e3,"x":[true,false,null]}"#;
        let cut = cut.min(body.len() - 1);
        let refused = glance(Operation::ChatCompletions, &body.as_bytes()[..cut]);
        let place = matches!(refused, Err(GlanceError::NotJson { line: 1, column, .. }) if column <= cut + 1);
        prop_assert!(place, "{:?}", refused);
    }
}
