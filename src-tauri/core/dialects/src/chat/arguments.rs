//! Putting tool arguments together from what servers send as "fragments".
//!
//! By rule each piece continues the one before. Some servers send the whole text so far each time, and some begin with
//! `{}` or `null` before the real text. The second piece decides: if it begins with all of the first, pieces are
//! snapshots. (A first piece `{"a":` continued by `{"a":…` would be misread; nobody cuts there.)

#[derive(Debug, Default)]
pub(super) struct Arguments {
    mode: Mode,
}

#[derive(Debug, Default)]
enum Mode {
    #[default]
    Empty,
    /// A lone `{}` or `null`, held back.
    Placeholder(String),
    /// The first piece, passed on already.
    First(String),
    Fragments,
    /// How much of the snapshots was passed on.
    Snapshots(usize),
}

impl Arguments {
    /// Takes a piece and returns what it adds.
    pub(super) fn push<'p>(&mut self, piece: &'p str) -> &'p str {
        if piece.is_empty() {
            return "";
        }
        match &mut self.mode {
            Mode::Empty | Mode::Placeholder(_) => {
                if matches!(piece.trim(), "{}" | "null") {
                    self.mode = Mode::Placeholder(piece.to_owned());
                    return "";
                }
                self.mode = Mode::First(piece.to_owned());
                piece
            }
            Mode::First(first) => match piece.strip_prefix(first.as_str()) {
                Some(more) => {
                    self.mode = Mode::Snapshots(piece.len());
                    more
                }
                None => {
                    self.mode = Mode::Fragments;
                    piece
                }
            },
            Mode::Fragments => piece,
            Mode::Snapshots(passed) => {
                let more = piece.get(*passed..).unwrap_or_default();
                *passed = piece.len().max(*passed);
                more
            }
        }
    }

    /// The call is complete: what was held back and turns out to be all there is.
    pub(super) fn finish(&mut self) -> Option<String> {
        match std::mem::take(&mut self.mode) {
            Mode::Placeholder(text) if text.trim() == "{}" => Some(text),
            Mode::Empty | Mode::Placeholder(_) | Mode::First(_) | Mode::Fragments | Mode::Snapshots(_) => None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self.mode, Mode::Empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_every_kind_give_the_same_text() {
        for (pieces, expected) in [
            (vec!["", "{\"a\"", ":", "1", "}"], "{\"a\":1}"),
            (vec!["{\"a\"", "{\"a\":1", "{\"a\":1}"], "{\"a\":1}"),
            (vec!["{\"a\":1}", "{\"a\":1}"], "{\"a\":1}"),
            (vec!["{}", "{\"a\"", ":1}"], "{\"a\":1}"),
            (vec!["null", "{\"a\":1}"], "{\"a\":1}"),
            (vec!["{}"], "{}"),
            (vec!["{}", "{}"], "{}"),
            (vec!["null"], ""),
            (vec!["{\"a\":\"", "aa", "aa", "\"}"], "{\"a\":\"aaaa\"}"),
            (vec!["{\"é", "{\"éé\":1}", "{"], "{\"éé\":1}"),
        ] {
            let mut arguments = Arguments::default();
            let mut text: String = pieces.iter().map(|piece| arguments.push(piece)).collect();
            text.extend(arguments.finish());
            assert_eq!(text, expected, "{pieces:?}");
        }
    }
}
