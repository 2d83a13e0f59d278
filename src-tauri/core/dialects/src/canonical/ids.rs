//! Tool ids and tool names that every vendor takes (gateway specification, 2.5 rule 3 and 2.6 rule 1).
//!
//! Vendors differ in which characters and lengths they allow. What is legal stays as it is; what is not gets a name made
//! from a hash of the original. Nothing is random and nothing is remembered between requests: the same original always
//! gives the same word, so a call and its result meet again on every later turn and the prompt's cached prefix holds.
//! Ids need no way back, since a client only compares them. Names do: [`ToolNames`] keeps the map.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::{IdMap, Names, Part, Request, ToolKind};

/// Which ids of tool calls a receiver takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdRule {
    /// Letters, digits, `_` and `-`.
    Messages,
    /// At most 40 bytes.
    Chat,
    /// At most 64 bytes.
    Responses,
    /// Exactly nine letters and digits (Mistral).
    NineAlnum,
}

/// Which names of tools a receiver takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// Letters, digits, `_` and `-`, at most 64.
    OpenAi,
    /// The same, at most 128.
    Messages,
    /// Letters, digits, `_`, `.`, `:` and `-`, at most 64, not beginning with a digit or a mark other than `_`.
    Gemini,
}

/// The id as the receiver takes it: itself where legal, else one made from its hash.
pub fn tool_id(id: &str, rule: IdRule) -> Cow<'_, str> {
    if rule.allows(id) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(match rule {
        IdRule::Messages => format!("toolu_{}", hash(&[id], 24)),
        IdRule::Chat | IdRule::Responses => format!("call_{}", hash(&[id], 24)),
        IdRule::NineAlnum => nine_alnum(id),
    })
}

/// An id for a call that came without one. `seed` tells turns and answers apart: the answer's id, or the turn's place and
/// the arguments.
pub fn minted(seed: &str, index: usize, name: &str) -> String {
    format!("call_{index}_{}", hash(&[seed, name], 24))
}

impl IdRule {
    fn allows(self, id: &str) -> bool {
        !id.is_empty()
            && match self {
                IdRule::Messages => id.bytes().all(is_word),
                IdRule::Chat => id.len() <= 40,
                IdRule::Responses => id.len() <= 64,
                IdRule::NineAlnum => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            }
    }
}

impl NameRule {
    fn allows(self, name: &str) -> bool {
        !name.is_empty()
            && name.len() <= self.longest()
            && name.bytes().all(|byte| self.takes(byte))
            && (self != NameRule::Gemini || name.bytes().next().is_some_and(begins_name))
    }

    const fn longest(self) -> usize {
        match self {
            NameRule::OpenAi | NameRule::Gemini => 64,
            NameRule::Messages => 128,
        }
    }

    const fn takes(self, byte: u8) -> bool {
        is_word(byte) || (matches!(self, NameRule::Gemini) && matches!(byte, b'.' | b':'))
    }

    /// Characters the receiver refuses become `_`; an over-long name keeps its beginning and gets a hash.
    fn clean(self, name: &str) -> String {
        let mut clean: String =
            name.chars().map(|c| if u8::try_from(c).is_ok_and(|byte| self.takes(byte)) { c } else { '_' }).collect();
        if self == NameRule::Gemini && !clean.bytes().next().is_some_and(begins_name) {
            clean.insert(0, '_');
        }
        if clean.is_empty() {
            clean.push('_');
        }
        if clean.len() > self.longest() { hashed(&clean, name, 0) } else { clean }
    }
}

/// The tools' names of one request, as sent. Distinct names stay distinct.
#[derive(Clone, Debug)]
pub struct ToolNames {
    rule: NameRule,
    /// The client's name, to the name as sent; only those that differ.
    renamed: BTreeMap<String, String>,
    taken: BTreeSet<String>,
}

impl ToolNames {
    /// Names every tool of the request, also those that only its history knows. Legal names go first, so that no other
    /// can take their place.
    pub fn new(rule: NameRule, request: &Request) -> ToolNames {
        let declared = request.tools.iter().map(|tool| tool.name.as_str());
        let called = request.turns.iter().flat_map(|turn| &turn.parts).filter_map(|part| match part {
            Part::ToolCall { name, .. } => Some(name.as_str()),
            _ => None,
        });
        let all: Vec<&str> = declared.chain(called).collect();
        let mut names = ToolNames { rule, renamed: BTreeMap::new(), taken: BTreeSet::new() };
        names.taken.extend(all.iter().filter(|name| rule.allows(name)).map(|name| (*name).to_owned()));
        for name in all {
            names.take(name);
        }
        names
    }

    /// The name as sent. A name that [`new`](Self::new) has not seen is cleaned.
    pub fn sent<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        match self.renamed.get(name) {
            Some(sent) => Cow::Borrowed(sent),
            None if self.rule.allows(name) => Cow::Borrowed(name),
            None => Cow::Owned(self.rule.clean(name)),
        }
    }

    /// A name like `wish` that no tool has, for one the gateway adds itself.
    pub fn free(&self, wish: &str) -> String {
        let clean = self.rule.clean(wish);
        self.unless_taken(clean, wish)
    }

    /// The way back: whatever was renamed, and whatever is not called with a JSON object at the client.
    pub fn id_map(&self, request: &Request) -> IdMap {
        let mut ids = IdMap::default();
        for tool in &request.tools {
            let sent = self.sent(&tool.name);
            if sent != tool.name || tool.kind != ToolKind::Function || tool.namespace.is_some() {
                ids.names.entry(sent.into_owned()).or_insert_with(|| tool.names());
            }
        }
        for part in request.turns.iter().flat_map(|turn| &turn.parts) {
            if let Part::ToolCall { name, kind, .. } = part {
                let sent = self.sent(name);
                if sent != name.as_str() || *kind != ToolKind::Function {
                    let names = Names { name: name.clone(), kind: kind.clone(), namespace: None };
                    ids.names.entry(sent.into_owned()).or_insert(names);
                }
            }
        }
        ids
    }

    fn take(&mut self, name: &str) {
        if self.rule.allows(name) || self.renamed.contains_key(name) {
            return;
        }
        let sent = self.unless_taken(self.rule.clean(name), name);
        self.taken.insert(sent.clone());
        self.renamed.insert(name.to_owned(), sent);
    }

    fn unless_taken(&self, clean: String, name: &str) -> String {
        let mut sent = clean.clone();
        let mut salt = 0_u32;
        while self.taken.contains(&sent) {
            sent = hashed(&clean, name, salt);
            salt += 1;
        }
        sent
    }
}

impl IdMap {
    /// The client's own name of a tool.
    pub fn name<'a>(&'a self, sent: &'a str) -> &'a str {
        self.names.get(sent).map_or(sent, |names| names.name.as_str())
    }

    /// How the client's tool is called.
    pub fn kind(&self, sent: &str) -> &ToolKind {
        self.names.get(sent).map_or(&ToolKind::Function, |names| &names.kind)
    }
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

const fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// The first 48 characters and a hash of the original. `clean` is ASCII.
fn hashed(clean: &str, name: &str, salt: u32) -> String {
    let head = clean.get(..48).unwrap_or(clean);
    let hash = if salt == 0 { hash(&[name], 8) } else { hash(&[name, &salt.to_string()], 8) };
    format!("{head}_{hash}")
}

/// The first `length` hexadecimal digits of a hash of the words; where one ends and the next begins matters.
fn hash(words: &[&str], length: usize) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = digest(words);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.take(length).filter_map(|digit| DIGITS.get(usize::from(digit))).map(|digit| char::from(*digit)).collect()
}

fn nine_alnum(id: &str) -> String {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut number = digest(&[id]).iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let mut word = String::with_capacity(9);
    for _ in 0..9 {
        let place = usize::try_from(number % 62).unwrap_or_default();
        word.push(LETTERS.get(place).map_or('0', |letter| char::from(*letter)));
        number /= 62;
    }
    word
}

fn digest(words: &[&str]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for word in words {
        hasher.update(u64::try_from(word.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(word.as_bytes());
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::{Role, Turn};

    fn calling(names: &[&str]) -> Request {
        let call = |name: &&str| Part::ToolCall {
            id: "x".to_owned(),
            name: (*name).to_owned(),
            arguments: "{}".to_owned(),
            kind: ToolKind::Function,
            signature: None,
            cache: None,
        };
        Request { turns: vec![Turn { role: Role::Assistant, parts: names.iter().map(call).collect() }], ..empty() }
    }

    fn empty() -> Request {
        Request::new("m", domain::Dialect::Chat)
    }

    #[test]
    fn legal_ids_stay_and_others_are_hashed_always_the_same_way() {
        let long = "x".repeat(65);
        for (id, rule, stays) in [
            ("toolu_01A-b", IdRule::Messages, true),
            ("call:1", IdRule::Messages, false),
            ("functions.ls:0", IdRule::Messages, false),
            ("", IdRule::Messages, false),
            (&long[..40], IdRule::Chat, true),
            (&long[..41], IdRule::Chat, false),
            (&long[..64], IdRule::Responses, true),
            (&long, IdRule::Responses, false),
            ("abcDEF123", IdRule::NineAlnum, true),
            ("call_1234", IdRule::NineAlnum, false),
        ] {
            let sent = tool_id(id, rule);
            assert_eq!(sent == id, stays, "{id}");
            assert!(rule.allows(&sent), "{sent}");
            assert_eq!(sent, tool_id(id, rule));
        }
        assert_ne!(tool_id("a:b", IdRule::Messages), tool_id("a.b", IdRule::Messages));
        assert_ne!(minted("turn 1", 0, "ls"), minted("turn 2", 0, "ls"));
        assert_ne!(minted("a", 0, "bc"), minted("ab", 0, "c"));
        assert!(IdRule::Messages.allows(&minted("é", 7, "ü")) && IdRule::Chat.allows(&minted("é", 7, "ü")));
    }

    #[test]
    fn distinct_names_stay_distinct_and_find_back() {
        let long = ["a".repeat(140), "a".repeat(141)];
        let client = ["mcp.fs/read", "mcp_fs_read", "mcp:fs/read", "9lives", "größe", "", &long[0], &long[1]];
        for rule in [NameRule::OpenAi, NameRule::Messages, NameRule::Gemini] {
            let request = calling(&client);
            let names = ToolNames::new(rule, &request);
            let ids = names.id_map(&request);
            let mut sent = BTreeSet::new();
            for name in client {
                let word = names.sent(name).into_owned();
                assert!(rule.allows(&word), "{word}");
                assert_eq!(ids.name(&word), name);
                assert!(sent.insert(word), "{name} collides");
            }
            assert_eq!(names.sent("mcp_fs_read"), "mcp_fs_read", "a legal name is never moved");
            assert!(!sent.contains(&names.free("mcp_fs_read")));
        }
    }

    #[test]
    fn tools_of_another_kind_are_known_on_the_way_back() {
        let mut request = calling(&["apply_patch"]);
        if let Some(Part::ToolCall { kind, .. }) = request.turns[0].parts.first_mut() {
            *kind = ToolKind::Custom;
        }
        let ids = ToolNames::new(NameRule::Messages, &request).id_map(&request);
        assert_eq!(ids.kind("apply_patch"), &ToolKind::Custom);
        assert_eq!(ids.kind("ls"), &ToolKind::Function);
    }
}
