//! Text of the system in the middle of a conversation (gateway specification, 2.3 rule 1).
//!
//! Most models take such text at the start alone. Moving it there would put it out of its order and would throw away the
//! cached prompt behind it, so it stays where it is, as labelled text of the next thing the user says.

use std::borrow::Cow;

use super::{Part, Role, Turn};

/// The turns without any of [`Role::System`]: their text stands in the user's next turn, behind its tool results.
pub fn fold(turns: &[Turn]) -> Cow<'_, [Turn]> {
    if turns.iter().all(|turn| turn.role != Role::System) {
        return Cow::Borrowed(turns);
    }
    let mut folded: Vec<Turn> = Vec::with_capacity(turns.len());
    let mut waiting: Vec<Part> = Vec::new();
    for turn in turns {
        match turn.role {
            Role::System => waiting.extend(turn.parts.iter().filter_map(label)),
            Role::User => {
                let mut parts = turn.parts.clone();
                let place = parts.iter().take_while(|part| matches!(part, Part::ToolResult { .. })).count();
                parts.splice(place..place, waiting.drain(..));
                folded.push(Turn { role: Role::User, parts });
            }
            Role::Assistant => {
                if !waiting.is_empty() {
                    folded.push(Turn { role: Role::User, parts: std::mem::take(&mut waiting) });
                }
                folded.push(turn.clone());
            }
        }
    }
    if !waiting.is_empty() {
        folded.push(Turn { role: Role::User, parts: waiting });
    }
    Cow::Owned(folded)
}

fn label(part: &Part) -> Option<Part> {
    match part {
        Part::Text { text, cache } if !text.trim().is_empty() => {
            Some(Part::Text { text: format!("<system>\n{text}\n</system>"), cache: cache.clone() })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(role: Role, text: &str) -> Turn {
        Turn { role, parts: vec![Part::Text { text: text.to_owned(), cache: None }] }
    }

    fn told(turns: &[Turn]) -> Vec<(Role, usize)> {
        turns.iter().map(|turn| (turn.role, turn.parts.len())).collect()
    }

    #[test]
    fn text_of_the_system_waits_for_what_the_user_says_next() {
        use Role::{Assistant, System, User};
        for (roles, expected) in [
            (&[User, Assistant][..], &[(User, 1), (Assistant, 1)][..]),
            (&[User, System, User], &[(User, 1), (User, 2)]),
            (&[User, System, Assistant], &[(User, 1), (User, 1), (Assistant, 1)]),
            (&[User, Assistant, System], &[(User, 1), (Assistant, 1), (User, 1)]),
        ] {
            let turns: Vec<_> = roles.iter().map(|role| turn(*role, "text")).collect();
            assert_eq!(told(&fold(&turns)), expected);
        }
    }

    #[test]
    fn it_stands_behind_tool_results() {
        let result = Part::ToolResult { call_id: "a".to_owned(), content: Vec::new(), is_error: false, cache: None };
        let turns =
            [turn(Role::System, "mind"), Turn { role: Role::User, parts: vec![result] }, turn(Role::System, " ")];
        let folded = fold(&turns);
        assert_eq!(told(&folded), [(Role::User, 2)]);
        assert!(matches!(&folded[0].parts[1], Part::Text { text, .. } if text == "<system>\nmind\n</system>"));
    }
}
