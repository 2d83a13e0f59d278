//! Responses: continuing an answer by its id, or naming its items by theirs, where nobody stored it (gateway
//! specification, 2.6, rule 9).
//!
//! A conversation is kept as pieces of JSON, each the items of one request or of one answer without the brackets around
//! them, and put in front of the next request's own. Nothing is read deeper than that.

use std::borrow::Cow;

use bytes::Bytes;
use memchr::memmem;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::splice::{Edit, remove_member, splice};

/// What of a request concerns storing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The answer this request continues.
    pub previous: Option<String>,
    /// Whether the answer shall be kept; so it is where nothing is said.
    pub keep: bool,
}

#[derive(Deserialize)]
struct Asked<'a> {
    previous_response_id: Option<String>,
    store: Option<bool>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// What a request says of storing; nothing where it cannot be read.
pub fn stored(body: &[u8]) -> Stored {
    let Ok(asked) = serde_json::from_slice::<Asked<'_>>(body) else { return Stored::default() };
    Stored { previous: asked.previous_response_id.filter(|id| !id.is_empty()), keep: asked.store != Some(false) }
}

/// The answer that a request continues; found without reading requests that name none.
pub fn previous(body: &[u8]) -> Option<String> {
    memmem::find(body, b"\"previous_response_id\"")?;
    stored(body).previous
}

/// The items of a request's `input`; a text is the message it stands for.
pub fn input_items(body: &[u8]) -> Option<Bytes> {
    let asked: Asked<'_> = serde_json::from_slice(body).ok()?;
    items(asked.input?)
}

/// The id of a whole answer, and its items.
pub fn output_items(answer: &[u8]) -> Option<(String, Bytes)> {
    #[derive(Deserialize)]
    struct Whole<'a> {
        id: String,
        #[serde(borrow)]
        output: &'a RawValue,
    }
    let whole: Whole<'_> = serde_json::from_slice(answer).ok()?;
    Some((whole.id, items(whole.output)?))
}

fn items(value: &RawValue) -> Option<Bytes> {
    let text = value.get().trim();
    if let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Some(Bytes::copy_from_slice(inside.trim().as_bytes()));
    }
    let said: String = serde_json::from_str(text).ok()?;
    Some(Bytes::from(json!({ "role": "user", "content": said }).to_string()))
}

/// The request with everything earlier in front of its own input, and without the id that stood for it.
pub fn continued(body: &Bytes, earlier: &[Bytes]) -> Option<Bytes> {
    let own = input_items(body)?;
    let asked: Asked<'_> = serde_json::from_slice(body).ok()?;
    let input = asked.input?.get();
    let start = input.as_ptr() as usize - body.as_ptr() as usize;
    let all: Vec<&[u8]> =
        earlier.iter().chain([&own]).map(|items| &items[..]).filter(|items| !items.is_empty()).collect();
    let mut with = vec![b'['];
    with.extend_from_slice(&all.join(&b','));
    with.push(b']');
    let longer = splice(body, &mut [Edit { range: start..start + input.len(), with }]);
    Some(match remove_member(&longer, "previous_response_id") {
        Some(edit) => splice(&longer, &mut [edit]),
        None => longer,
    })
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    id: Option<String>,
}

/// The item of this id among the items of an answer.
pub fn item(items: &[u8], id: &str) -> Option<Bytes> {
    let list = [b"[", items, b"]"].concat();
    let list: Vec<&RawValue> = serde_json::from_slice(&list).ok()?;
    let is_it =
        |item: &&&RawValue| serde_json::from_str::<Named<'_>>(item.get()).is_ok_and(|it| it.id.as_deref() == Some(id));
    list.iter().find(is_it).map(|item| Bytes::copy_from_slice(item.get().as_bytes()))
}

/// The ids of the items of an answer.
pub fn item_ids(items: &[u8]) -> Vec<String> {
    let list = [b"[", items, b"]"].concat();
    let list: Vec<Named<'_>> = serde_json::from_slice(&list).unwrap_or_default();
    list.into_iter().filter_map(|item| item.id).collect()
}

/// The request with items in the place of references to them; nothing where `find` knows none.
pub fn with_items(body: &Bytes, mut find: impl FnMut(&str) -> Option<Bytes>) -> Option<Bytes> {
    memmem::find(body, b"\"item_reference\"")?;
    let asked: Asked<'_> = serde_json::from_slice(body).ok()?;
    let items: Vec<&RawValue> = serde_json::from_str(asked.input?.get()).ok()?;
    let mut edits: Vec<Edit> = items
        .into_iter()
        .filter_map(|item| {
            let named: Named<'_> = serde_json::from_str(item.get()).ok()?;
            let id = named.id.filter(|_| named.kind.as_deref() == Some("item_reference"))?;
            let start = item.get().as_ptr() as usize - body.as_ptr() as usize;
            Some(Edit { range: start..start + item.get().len(), with: find(&id)?.to_vec() })
        })
        .collect();
    (!edits.is_empty()).then(|| splice(body, &mut edits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_comes_before_what_is_said() {
        let first = br#"{"model":"m","input":"hi \"you\""}"#;
        let answer = br#"{"id":"resp_1","output":[ {"type":"message"} , {"type":"function_call"} ],"x":1}"#;
        let (id, output) = output_items(answer).expect("an answer");
        let earlier = [input_items(first).expect("an input"), output, Bytes::new()];
        let next = Bytes::from_static(
            br#"{"previous_response_id":"resp_1","input":[{"type":"function_call_output"}],"store":true}"#,
        );
        assert_eq!(stored(&next), Stored { previous: Some(id), keep: true });
        assert_eq!(previous(&next).as_deref(), Some("resp_1"));
        assert_eq!(
            continued(&next, &earlier).expect("a request"),
            r#"{"input":[{"role":"user","content":"hi \"you\""},{"type":"message"} , {"type":"function_call"},{"type":"function_call_output"}],"store":true}"#
        );
    }

    #[test]
    fn a_reference_becomes_its_item_where_it_is_known() {
        let kept = br#"{"type":"message","id":"msg_1","content":"a, b"},{"id":"fc_1"},{"type":"x"}"#;
        assert_eq!(item_ids(kept), ["msg_1", "fc_1"]);
        let body = Bytes::from_static(
            br#"{"input":[{"role":"user","id":"msg_1"},{"type":"item_reference","id":"msg_1"}, {"id":"fc_2","type":"item_reference"}]}"#,
        );
        assert_eq!(
            with_items(&body, |id| item(kept, id)).expect("a request"),
            r#"{"input":[{"role":"user","id":"msg_1"},{"type":"message","id":"msg_1","content":"a, b"}, {"id":"fc_2","type":"item_reference"}]}"#
        );
        assert_eq!(with_items(&body, |_| None), None);
        assert_eq!(with_items(&Bytes::from_static(br#"{"input":"\"item_reference\""}"#), |id| item(kept, id)), None);
    }

    #[test]
    fn what_is_not_to_be_kept_says_so() {
        assert_eq!(stored(br#"{"store":false,"input":[]}"#), Stored { previous: None, keep: false });
        assert_eq!((stored(b"[]"), previous(b"{}")), (Stored::default(), None));
        assert_eq!(input_items(br#"{"input":7}"#), None);
    }
}
