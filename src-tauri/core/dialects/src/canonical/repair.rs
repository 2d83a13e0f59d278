//! Makes a conversation legal for servers that check it (gateway specification, 2.3 rules 3 and 5, 2.6 rule 2).
//!
//! Clients trim their history, answer calls late, twice or never, and send texts with nothing in them. Strict servers
//! refuse such a conversation, and since every later turn resends it, it would be stuck for good. The rules:
//!
//! - Texts of white space alone are removed, inside tool results too, and so are turns with nothing left in them.
//! - Every turn with calls is followed at once by the results of all of them, in the order of the calls. Results come
//!   first in their turn.
//! - Of several results of one call the last counts. A call that was never answered gets a result that says so; in the
//!   last turn it is removed instead, since nobody waits for it.
//! - A result without its call becomes a text of the user.
//! - Neighbouring turns of one speaker become one.
//!
//! Most conversations keep all of this. They are seen through once and handed back as they are: a history of half a
//! megabyte is not copied to find that nothing is wrong with it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::request::{Part, Role, ToolKind, Turn};
use super::target::Warning;

/// What the model is told of a call that was never answered.
const NO_RESULT: &str = "no result recorded";

/// What stands before a result whose call is gone.
const ORPHAN: &str = "[tool result] ";

const REPAIRED: &str = "REPAIRED_TOOLS";

/// The conversation as strict servers take it. Warnings name the ids of the calls concerned.
pub fn repair(turns: &[Turn]) -> (Cow<'_, [Turn]>, Vec<Warning>) {
    if is_whole(turns) {
        return (Cow::Borrowed(turns), Vec::new());
    }
    let (turns, warnings) = rebuilt(turns);
    (Cow::Owned(turns), warnings)
}

/// [`repair`], for a conversation that may have been changed already.
pub fn repaired(turns: Cow<'_, [Turn]>) -> (Cow<'_, [Turn]>, Vec<Warning>) {
    match turns {
        Cow::Borrowed(turns) => repair(turns),
        Cow::Owned(turns) => {
            let (turns, warnings) = repair(&turns);
            (Cow::Owned(turns.into_owned()), warnings)
        }
    }
}

fn rebuilt(turns: &[Turn]) -> (Vec<Turn>, Vec<Warning>) {
    let mut ledger = Ledger::default();
    let merged = merge(turns.iter().map(cleaned));
    let turns = merged.into_iter().enumerate().map(|(place, turn)| ledger.take(place, turn)).collect();
    let turns = merge(ledger.settle(turns).into_iter());
    (turns, ledger.warnings)
}

/// Whether there is nothing to repair.
fn is_whole(turns: &[Turn]) -> bool {
    let mut speaker = None;
    let mut awaited: Vec<&str> = Vec::new();
    let is_whole = turns.iter().all(|turn| {
        let fits = speaker != Some(turn.role) && !is_lacking(turn) && answers(turn, &awaited);
        speaker = Some(turn.role);
        awaited = if turn.role == Role::Assistant { calls(turn).collect() } else { Vec::new() };
        fits
    });
    is_whole && awaited.is_empty()
}

/// Whether a turn holds nothing, or something blank.
fn is_lacking(turn: &Turn) -> bool {
    let is_lacking = |part: &Part| match part {
        Part::ToolResult { content, .. } => content.iter().any(is_blank),
        part => is_blank(part),
    };
    turn.parts.is_empty() || turn.parts.iter().any(is_lacking)
}

/// Whether a turn begins with the results of these calls in their order, and holds no others.
fn answers(turn: &Turn, calls: &[&str]) -> bool {
    let Some((results, rest)) = turn.parts.split_at_checked(calls.len()) else { return false };
    let may_answer = calls.is_empty() || turn.role == Role::User;
    let is_result = |(part, id): (&Part, &&str)| matches!(part, Part::ToolResult { call_id, .. } if call_id == id);
    let has_more = rest.iter().any(|part| matches!(part, Part::ToolResult { .. }));
    may_answer && !has_more && results.iter().zip(calls).all(is_result)
}

/// The ids of the calls of a turn that the client answers.
fn calls(turn: &Turn) -> impl Iterator<Item = &str> {
    turn.parts.iter().filter_map(|part| match part {
        Part::ToolCall { id, kind, .. } if !matches!(kind, ToolKind::Server(_)) => Some(id.as_str()),
        _ => None,
    })
}

/// Whether nothing can be seen of a part.
fn is_blank(part: &Part) -> bool {
    match part {
        Part::Text { text, .. } | Part::Refusal { text } => text.trim().is_empty(),
        Part::Reasoning { text, signature, encrypted, .. } => {
            text.trim().is_empty() && signature.is_none() && encrypted.is_none()
        }
        Part::Image { .. }
        | Part::Document { .. }
        | Part::Audio { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. }
        | Part::Opaque { .. } => false,
    }
}

fn cleaned(turn: &Turn) -> Turn {
    let kept = turn.parts.iter().filter(|part| !is_blank(part));
    let parts = kept.map(|part| match part {
        Part::ToolResult { call_id, content, is_error, cache } => Part::ToolResult {
            call_id: call_id.clone(),
            content: content.iter().filter(|part| !is_blank(part)).cloned().collect(),
            is_error: *is_error,
            cache: cache.clone(),
        },
        part => part.clone(),
    });
    Turn { role: turn.role, parts: parts.collect() }
}

/// Joins neighbours and removes empty turns.
fn merge(turns: impl Iterator<Item = Turn>) -> Vec<Turn> {
    let mut merged: Vec<Turn> = Vec::new();
    for turn in turns.filter(|turn| !turn.parts.is_empty()) {
        match merged.last_mut() {
            Some(last) if last.role == turn.role => last.parts.extend(turn.parts),
            _ => merged.push(turn),
        }
    }
    merged
}

/// Which calls were made, and what came of them.
#[derive(Default)]
struct Ledger {
    calls: Vec<Call>,
    /// Calls by id, in their order.
    by_id: BTreeMap<String, Vec<usize>>,
    warnings: Vec<Warning>,
}

struct Call {
    id: String,
    /// Number of the turn that makes it.
    turn: usize,
    result: Option<Part>,
}

impl Ledger {
    /// Notes the calls of a turn and takes the results out of it.
    fn take(&mut self, place: usize, mut turn: Turn) -> Turn {
        match turn.role {
            Role::Assistant => {
                for id in calls(&turn) {
                    self.by_id.entry(id.to_owned()).or_default().push(self.calls.len());
                    self.calls.push(Call { id: id.to_owned(), turn: place, result: None });
                }
            }
            Role::User | Role::System => {
                let mut rest = Vec::with_capacity(turn.parts.len());
                for part in turn.parts {
                    if let Part::ToolResult { .. } = part {
                        self.answer(place, part, &mut rest);
                    } else {
                        rest.push(part);
                    }
                }
                turn.parts = rest;
            }
        }
        turn
    }

    /// Puts a result to its call. Ids may come again: the latest turn that has it is meant, and there the first call
    /// that still waits.
    fn answer(&mut self, place: usize, result: Part, rest: &mut Vec<Part>) {
        let Part::ToolResult { call_id, .. } = &result else { return };
        let calls = self.by_id.get(call_id).map(Vec::as_slice).unwrap_or_default();
        let latest = calls.last().and_then(|at| self.calls.get(*at)).map(|call| call.turn);
        let of_turn = |at: &&usize| self.calls.get(**at).map(|call| call.turn) == latest;
        let waits = |at: &&usize| self.calls.get(**at).is_some_and(|call| call.result.is_none());
        let found = calls.iter().filter(of_turn).find(waits).or(calls.last()).copied();
        let Some(call) = found.and_then(|at| self.calls.get_mut(at)) else {
            self.warnings.push(Warning { code: REPAIRED, about: call_id.clone() });
            orphan(result, rest);
            return;
        };
        if call.result.is_some() || call.turn + 1 != place {
            self.warnings.push(Warning { code: REPAIRED, about: call_id.clone() });
        }
        call.result = Some(result);
    }

    /// Puts the results behind their calls.
    fn settle(&mut self, turns: Vec<Turn>) -> Vec<Turn> {
        let last = turns.iter().rposition(|turn| !turn.parts.is_empty());
        let mut calls = std::mem::take(&mut self.calls).into_iter().peekable();
        let mut settled = Vec::with_capacity(turns.len() + 1);
        for (place, mut turn) in turns.into_iter().enumerate() {
            let mut made = Vec::new();
            while let Some(call) = calls.next_if(|call| call.turn == place) {
                made.push(call);
            }
            let is_pending = Some(place) == last && made.iter().all(|call| call.result.is_none());
            for call in made.iter().filter(|call| call.result.is_none()) {
                self.warnings.push(Warning { code: REPAIRED, about: call.id.clone() });
            }
            if !made.is_empty() && is_pending {
                forget_calls(&mut turn);
                made.clear();
            }
            settled.push(turn);
            let results: Vec<_> = made.into_iter().map(Call::into_result).collect();
            settled.push(Turn { role: Role::User, parts: results });
        }
        settled
    }
}

impl Call {
    fn into_result(self) -> Part {
        self.result.unwrap_or_else(|| Part::ToolResult {
            call_id: self.id,
            content: vec![Part::Text { text: NO_RESULT.to_owned(), cache: None }],
            is_error: true,
            cache: None,
        })
    }
}

/// Takes the calls out of a turn, and the thinking that led to nothing else.
fn forget_calls(turn: &mut Turn) {
    turn.parts.retain(|part| !matches!(part, Part::ToolCall { .. }));
    if turn.parts.iter().all(|part| matches!(part, Part::Reasoning { .. })) {
        turn.parts.clear();
    }
}

/// A result without a call, as something the user says.
fn orphan(result: Part, rest: &mut Vec<Part>) {
    let Part::ToolResult { content, .. } = result else { return };
    let mut is_first = true;
    for part in content {
        rest.push(match part {
            Part::Text { text, cache } if is_first => Part::Text { text: format!("{ORPHAN}{text}"), cache },
            part => part,
        });
        is_first = false;
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> Part {
        Part::Text { text: text.to_owned(), cache: None }
    }

    fn call(id: &str) -> Part {
        Part::ToolCall {
            id: id.to_owned(),
            name: "ls".to_owned(),
            arguments: String::new(),
            kind: ToolKind::Function,
            signature: None,
            cache: None,
        }
    }

    fn result(id: &str, said: &str) -> Part {
        Part::ToolResult { call_id: id.to_owned(), content: vec![text(said)], is_error: false, cache: None }
    }

    fn user(parts: Vec<Part>) -> Turn {
        Turn { role: Role::User, parts }
    }

    fn assistant(parts: Vec<Part>) -> Turn {
        Turn { role: Role::Assistant, parts }
    }

    fn system(said: &str) -> Turn {
        Turn { role: Role::System, parts: vec![text(said)] }
    }

    /// One line for each turn: `u` text, `c:` call, `r:` result.
    fn told(turns: &[Turn]) -> Vec<String> {
        fn part(it: &Part) -> String {
            match it {
                Part::Text { text, .. } => text.clone(),
                Part::ToolCall { id, .. } => format!("c:{id}"),
                Part::ToolResult { call_id, content, is_error, .. } => {
                    let said: Vec<_> = content.iter().map(part).collect();
                    format!("r:{call_id}={}{}", said.join("+"), if *is_error { "!" } else { "" })
                }
                other => format!("{other:?}"),
            }
        }
        let line = |turn: &Turn| {
            let parts: Vec<_> = turn.parts.iter().map(part).collect();
            let role = match turn.role {
                Role::System => "s",
                Role::User => "u",
                Role::Assistant => "a",
            };
            format!("{role} {}", parts.join(" | "))
        };
        turns.iter().map(line).collect()
    }

    /// Name, turns, what becomes of them, and the calls that are warned of.
    type Case = (&'static str, Vec<Turn>, Vec<&'static str>, Vec<&'static str>);

    #[test]
    fn any_conversation_becomes_one_that_strict_servers_take() {
        let cases: Vec<Case> = vec![
            (
                "a good one stays as it is",
                vec![user(vec![text("hi")]), assistant(vec![text("look"), call("1")]), user(vec![result("1", "ok")])],
                vec!["u hi", "a look | c:1", "u r:1=ok"],
                vec![],
            ),
            (
                "neighbours of one speaker become one turn",
                vec![
                    user(vec![text("a")]),
                    user(vec![text("b")]),
                    assistant(vec![text("c")]),
                    assistant(vec![text("d")]),
                ],
                vec!["u a | b", "a c | d"],
                vec![],
            ),
            (
                "empty texts go, nested ones too, and empty turns with them",
                vec![user(vec![text("a"), text(" \n")]), assistant(vec![text("")]), user(vec![text("b")])],
                vec!["u a | b"],
                vec![],
            ),
            (
                "results come first, in the order of the calls",
                vec![
                    assistant(vec![call("1"), call("2")]),
                    user(vec![text("note"), result("2", "two"), result("1", "")]),
                ],
                vec!["a c:1 | c:2", "u r:1= | r:2=two | note"],
                vec![],
            ),
            (
                "results spread over several turns are gathered",
                vec![
                    assistant(vec![call("1"), call("2")]),
                    user(vec![result("1", "one")]),
                    assistant(vec![text("wait")]),
                    user(vec![result("2", "two"), text("go on")]),
                ],
                vec!["a c:1 | c:2", "u r:1=one | r:2=two", "a wait", "u go on"],
                vec!["2"],
            ),
            (
                "a result without its call is told by the user",
                vec![user(vec![result("gone", "old"), result("blank", " "), text("and")]), assistant(vec![text("ok")])],
                vec!["u [tool result] old | and", "a ok"],
                vec!["gone", "blank"],
            ),
            (
                "a call without a result gets one",
                vec![assistant(vec![call("1"), call("2")]), user(vec![result("2", "two")]), assistant(vec![text("x")])],
                vec!["a c:1 | c:2", "u r:1=no result recorded! | r:2=two", "a x"],
                vec!["1"],
            ),
            (
                "a call without a result in the last turn is removed",
                vec![user(vec![text("hi")]), assistant(vec![text("look"), call("1")])],
                vec!["u hi", "a look"],
                vec!["1"],
            ),
            (
                "and its turn with it when nothing else is there",
                vec![user(vec![text("hi")]), assistant(vec![call("1")]), user(vec![text(" ")])],
                vec!["u hi"],
                vec!["1"],
            ),
            (
                "of two results the last counts",
                vec![assistant(vec![call("1")]), user(vec![result("1", "old"), result("1", "new")])],
                vec!["a c:1", "u r:1=new"],
                vec!["1"],
            ),
            (
                "an id that comes again means the latest call",
                vec![
                    assistant(vec![call("0")]),
                    user(vec![result("0", "first")]),
                    assistant(vec![call("0")]),
                    user(vec![result("0", "second")]),
                ],
                vec!["a c:0", "u r:0=first", "a c:0", "u r:0=second"],
                vec![],
            ),
            (
                "two calls under one id get a result each",
                vec![assistant(vec![call("0"), call("0")]), user(vec![result("0", "a"), result("0", "b")])],
                vec!["a c:0 | c:0", "u r:0=a | r:0=b"],
                vec![],
            ),
            (
                "system text does not come between a call and its result",
                vec![assistant(vec![call("1")]), system("be brief"), user(vec![result("1", "ok"), text("next")])],
                vec!["a c:1", "u r:1=ok", "s be brief", "u next"],
                vec!["1"],
            ),
        ];
        for (name, turns, expected, warned) in cases {
            let (repaired, warnings) = repair(&turns);
            assert_eq!(told(&repaired), expected, "{name}");
            let about: Vec<_> = warnings.iter().map(|warning| warning.about.as_str()).collect();
            assert_eq!(about, warned, "{name}");
            assert_eq!(told(&repair(&repaired).0), expected, "{name}: again");
            assert!(matches!(repair(&repaired).0, Cow::Borrowed(_)), "{name}: nothing is left to repair");
        }
    }

    fn any_turn() -> impl Strategy<Value = Turn> {
        let id = prop_oneof![Just("1"), Just("2")];
        let part = prop_oneof![
            2 => Just(text("said")),
            4 => id.clone().prop_map(call),
            4 => id.prop_map(|id| result(id, "ok")),
            1 => Just(text(" ")),
        ];
        let role = prop_oneof![4 => Just(Role::User), 4 => Just(Role::Assistant), 1 => Just(Role::System)];
        (role, vec(part, 0..3)).prop_map(|(role, parts)| Turn { role, parts })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn what_is_handed_back_as_it_is_would_not_be_changed(turns in vec(any_turn(), 0..4)) {
            let (rebuilt, warnings) = rebuilt(&turns);
            if is_whole(&turns) {
                prop_assert_eq!(told(&rebuilt), told(&turns));
                prop_assert!(warnings.is_empty());
            }
        }
    }
}
