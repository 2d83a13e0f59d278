//! Changing a few values of a body and not one byte beside them.
//!
//! Edits come from [`glance`](crate::glance::glance) and are applied together. What stays of a large body is not even
//! copied: [`pieces`] yields slices of it, with the new values in between.

use std::ops::Range;

use bytes::Bytes;

use crate::glance::{Glance, Insert};
use crate::json::Scanner;

/// Replaces the bytes of `range` by `with`. An empty range inserts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub range: Range<usize>,
    pub with: Vec<u8>,
}

/// Below this many bytes one copy is cheaper than several pieces to keep track of.
const SMALL: usize = 16 * 1024;

const INCLUDE_USAGE: &str = "\"include_usage\":true";

/// `body` with `edits` applied, in the order of their positions whatever their order in the slice. Without edits the
/// same bytes are returned, not a copy.
///
/// Ranges must lie inside the body and not overlap. An edit that breaks this is left out: a body must never be mixed
/// from two ideas of it.
pub fn splice(body: &Bytes, edits: &mut [Edit]) -> Bytes {
    let fitting = fitting(body, edits);
    if fitting.is_empty() {
        return body.clone();
    }
    let added: usize = fitting.iter().map(|edit| edit.with.len()).sum();
    let mut spliced = Vec::with_capacity(body.len() + added);
    let mut kept_to = 0;
    for Edit { range, with } in fitting {
        spliced.extend_from_slice(&body[kept_to..range.start]);
        spliced.extend_from_slice(with);
        kept_to = range.end;
    }
    spliced.extend_from_slice(&body[kept_to..]);
    Bytes::from(spliced)
}

/// What [`splice`] yields, as pieces that follow one another: slices of `body` where it is large, one copy where it is
/// small. Never empty pieces.
pub fn pieces(body: &Bytes, edits: &mut [Edit]) -> Vec<Bytes> {
    let mut pieces = Vec::with_capacity(2 * edits.len() + 1);
    if body.len() < SMALL {
        pieces.push(splice(body, edits));
    } else {
        let mut kept_to = 0;
        for Edit { range, with } in fitting(body, edits) {
            pieces.push(body.slice(kept_to..range.start));
            pieces.push(Bytes::copy_from_slice(with));
            kept_to = range.end;
        }
        pieces.push(body.slice(kept_to..));
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// The edits in the order of their positions, without those that do not fit.
fn fitting<'a>(body: &Bytes, edits: &'a mut [Edit]) -> Vec<&'a Edit> {
    edits.sort_by_key(|edit| edit.range.start);
    let mut kept_to = 0;
    let mut fitting = Vec::with_capacity(edits.len());
    for edit in &*edits {
        let Range { start, end } = edit.range;
        let fits = kept_to <= start && start <= end && end <= body.len();
        debug_assert!(fits, "edits overlap or leave the body");
        if fits {
            fitting.push(edit);
            kept_to = end;
        }
    }
    fitting
}

/// Sets `model`. `None` when it is already equal, or when the body names no model.
pub fn model_edit(glance: &Glance, model: &str) -> Option<Edit> {
    let range = glance.model_range.clone()?;
    if glance.model.as_deref() == Some(model) {
        return None;
    }
    Some(Edit { range, with: serde_json::Value::from(model).to_string().into_bytes() })
}

/// Sets `model` also where the body names none, for dialects that have it there.
pub fn ensure_model(glance: &Glance, model: &str) -> Option<Edit> {
    if glance.model_range.is_some() {
        return model_edit(glance, model);
    }
    Some(insert(&glance.insert, &format!("\"model\":{}", serde_json::Value::from(model))))
}

/// Sets Chat `stream_options.include_usage` to true and keeps every other option, so that the upstream counts. `None`
/// when it is already so.
pub fn ensure_include_usage(glance: &Glance) -> Option<Edit> {
    if glance.include_usage {
        return None;
    }
    let Some(options) = &glance.stream_options else {
        return Some(insert(&glance.insert, &format!("\"stream_options\":{{{INCLUDE_USAGE}}}")));
    };
    if let Some(value) = &options.include_usage {
        return Some(Edit { range: value.clone(), with: b"true".to_vec() });
    }
    Some(match &options.insert {
        Some(place) => insert(place, INCLUDE_USAGE),
        None => Edit { range: options.range.clone(), with: format!("{{{INCLUDE_USAGE}}}").into_bytes() },
    })
}

/// Removes the top-level member `name` with its comma. `None` when there is none, or the body is no JSON object.
pub fn remove_member(body: &[u8], name: &str) -> Option<Edit> {
    remove_members(body, &[name]).into_iter().next()
}

/// Removes the top-level members that bear one of `names`. Neighbours are removed in one edit, so the result is JSON
/// again however many go.
pub fn remove_members(body: &[u8], names: &[&str]) -> Vec<Edit> {
    let mut members: Vec<Removable> = Vec::new();
    let walked = Scanner::new(body).object(|scanner, key| {
        let is_removed = names.iter().any(|name| scanner.is(&key, name));
        let value = scanner.skip()?;
        members.push(Removable { range: key.range.start..value.end, is_removed });
        Ok(())
    });
    if walked.is_err() { Vec::new() } else { removals(&members) }
}

/// A member of an object, from its key to the end of its value, or an element of an array.
pub(crate) struct Removable {
    pub(crate) range: Range<usize>,
    pub(crate) is_removed: bool,
}

/// Removes members or elements with their commas. `all` are those of one object or array, in order.
pub(crate) fn removals(all: &[Removable]) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut kept_end = None;
    let mut at = 0;
    for run in all.chunk_by(|left, right| left.is_removed == right.is_removed) {
        at += run.len();
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        if !first.is_removed {
            kept_end = Some(last.range.end);
            continue;
        }
        let range = match (kept_end, all.get(at)) {
            (Some(end), _) => end..last.range.end,
            (None, Some(next)) => first.range.start..next.range.start,
            (None, None) => first.range.start..last.range.end,
        };
        edits.push(Edit { range, with: Vec::new() });
    }
    edits
}

fn insert(place: &Insert, member: &str) -> Edit {
    let comma = if place.needs_comma { "," } else { "" };
    Edit { range: place.at..place.at, with: format!("{comma}{member}").into_bytes() }
}

#[cfg(test)]
mod tests {
    use domain::Operation;

    use super::*;
    use crate::glance::glance;

    fn chat(body: &str) -> Glance {
        glance(Operation::ChatCompletions, body.as_bytes()).unwrap()
    }

    fn apply(body: &str, edits: impl IntoIterator<Item = Edit>) -> String {
        let mut edits: Vec<_> = edits.into_iter().collect();
        let spliced = splice(&Bytes::copy_from_slice(body.as_bytes()), &mut edits);
        String::from_utf8(spliced.to_vec()).unwrap()
    }

    #[test]
    fn the_model_changes_and_nothing_else() {
        for (body, model, expected) in [
            (r#"{ "model" : "a" ,"x":1e2}"#, "b", r#"{ "model" : "b" ,"x":1e2}"#),
            (r#"{"messages":[{"model":"a"}],"model":"a"}"#, "p/b", r#"{"messages":[{"model":"a"}],"model":"p/b"}"#),
            (r#"{"model":"a"}"#, "q\"\\é", r#"{"model":"q\"\\é"}"#),
            (r#"{"mod\u0065l":"\u0061"}"#, "a", r#"{"mod\u0065l":"\u0061"}"#),
            (r#"{"x":1}"#, "b", r#"{"x":1}"#),
        ] {
            assert_eq!(apply(body, model_edit(&chat(body), model)), expected);
        }
    }

    #[test]
    fn without_edits_nothing_is_copied() {
        let body = Bytes::from_static(b"{\"model\":\"a\"}");
        assert_eq!(splice(&body, &mut []).as_ptr(), body.as_ptr());
    }

    #[test]
    fn edits_apply_by_position_in_any_order() {
        let edit = |range, with: &str| Edit { range, with: with.as_bytes().to_vec() };
        assert_eq!(apply("abcdef", [edit(4..6, "Z"), edit(0..1, ""), edit(2..2, "--")]), "b--cdZ");
    }

    #[test]
    fn pieces_are_the_spliced_body_and_slices_of_a_large_one() {
        let edit = |range, with: &str| Edit { range, with: with.as_bytes().to_vec() };
        for size in [6, SMALL] {
            let body = Bytes::from("abcdef".repeat(size / 6 + 1));
            let edits = [edit(4..6, "Z"), edit(0..1, ""), edit(2..2, "--"), edit(body.len()..body.len(), "!")];
            let pieces = pieces(&body, &mut edits.clone());
            assert_eq!(pieces.concat(), splice(&body, &mut edits.clone()), "{size}");
            assert!(pieces.iter().all(|piece| !piece.is_empty()));
            assert_eq!(pieces.iter().any(|piece| piece.as_ptr() == body[6..].as_ptr()), size == SMALL);
        }
        assert_eq!(pieces(&Bytes::new(), &mut []), Vec::<Bytes>::new());
    }

    #[test]
    fn usage_is_asked_for_and_every_other_option_kept() {
        for (body, expected) in [
            (r#"{}"#, r#"{"stream_options":{"include_usage":true}}"#),
            ("{\"model\":\"a\"\n}", "{\"model\":\"a\",\"stream_options\":{\"include_usage\":true}\n}"),
            (r#"{"stream_options":null}"#, r#"{"stream_options":{"include_usage":true}}"#),
            (r#"{"stream_options":{ }}"#, r#"{"stream_options":{"include_usage":true }}"#),
            (r#"{"stream_options":{"a":[1]},"b":2}"#, r#"{"stream_options":{"a":[1],"include_usage":true},"b":2}"#),
            (
                r#"{"stream_options":{"include_usage":false,"a":1}}"#,
                r#"{"stream_options":{"include_usage":true,"a":1}}"#,
            ),
            (r#"{"stream_options":{"include_usage":true}}"#, r#"{"stream_options":{"include_usage":true}}"#),
        ] {
            let spliced = apply(body, ensure_include_usage(&chat(body)));
            assert_eq!(spliced, expected);
            assert!(chat(&spliced).include_usage);
        }
    }

    #[test]
    fn members_go_with_their_comma() {
        for (body, names, expected) in [
            (r#"{"a":1,"b":2,"c":3}"#, vec!["b"], r#"{"a":1,"c":3}"#),
            (r#"{"a":1,"b":2,"c":3}"#, vec!["a"], r#"{"b":2,"c":3}"#),
            (r#"{"a":1,"b":2,"c":3}"#, vec!["c"], r#"{"a":1,"b":2}"#),
            (r#"{"a":1,"b":2,"c":3}"#, vec!["a", "b"], r#"{"c":3}"#),
            (r#"{"a":1,"b":2,"c":3}"#, vec!["a", "c"], r#"{"b":2}"#),
            (r#"{"a":1,"b":2,"c":3}"#, vec!["b", "c"], r#"{"a":1}"#),
            (r#"{"a":1,"b":2,"c":3}"#, vec!["a", "b", "c"], r#"{}"#),
            ("{\n  \"a\": 1,\n  \"b\": {\"a\":2}\n}", vec!["a"], "{\n  \"b\": {\"a\":2}\n}"),
            ("{\n  \"a\": 1,\n  \"b\": 2\n}", vec!["b"], "{\n  \"a\": 1\n}"),
            (r#"{"a":1,"a":2,"b":3}"#, vec!["a"], r#"{"b":3}"#),
            (r#"{"b":{"a":1}}"#, vec!["a"], r#"{"b":{"a":1}}"#),
            (r#"{"a":1"#, vec!["a"], r#"{"a":1"#),
        ] {
            assert_eq!(apply(body, remove_members(body.as_bytes(), &names)), expected, "{body} without {names:?}");
        }
    }

    #[test]
    fn background_is_cut_where_the_glance_says() {
        for (body, expected) in [
            (r#"{"background":true,"model":"a"}"#, r#"{"model":"a"}"#),
            (r#"{"model":"a" , "background":true }"#, r#"{"model":"a" }"#),
            (r#"{"background":true}"#, r#"{}"#),
            (r#"{"model":"a","background":false}"#, r#"{"model":"a","background":false}"#),
        ] {
            let found = glance(Operation::Responses, body.as_bytes()).unwrap();
            let cut = found.background.map(|range| Edit { range, with: Vec::new() });
            assert_eq!(apply(body, cut), expected);
        }
    }
}
