//! An answer put together while its stream is read: for a client that wants a body, because something of it is kept, or because
//! a writer tells it once more at the end.
//!
//! A stream has no end that anybody knows before it comes, so what is put together has the bound of a whole body.

use dialects::Event;
use dialects::canonical::Answer;

/// The answer so far.
pub(crate) struct Folded {
    answer: Answer,
    room: Room,
}

/// Room for one answer.
pub(crate) struct Room {
    /// Bytes left.
    left: u64,
}

/// There is more of an answer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl Folded {
    /// An empty one, with room for so many bytes.
    pub(crate) fn new(limit: u64) -> Folded {
        Folded { answer: Answer::default(), room: Room::new(limit) }
    }

    /// Takes one more event of a stream that has not failed.
    ///
    /// # Errors
    /// There is no room for it.
    pub(crate) fn take(&mut self, event: &Event) -> Result<(), TooLarge> {
        self.room.take(event)?;
        // Only a failure is refused, and there is none.
        let _ = self.answer.take(event.clone());
        Ok(())
    }

    pub(crate) fn answer(&self) -> &Answer {
        &self.answer
    }

    pub(crate) fn into_answer(self) -> Answer {
        self.answer
    }
}

impl Room {
    /// For so many bytes.
    pub(crate) fn new(limit: u64) -> Room {
        Room { left: limit }
    }

    /// Takes the room for one more event.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn take(&mut self, event: &Event) -> Result<(), TooLarge> {
        self.left = self.left.checked_sub(size_of(event)).ok_or(TooLarge)?;
        Ok(())
    }
}

/// What of an event stays in the answer. A part takes room also where it is empty.
fn size_of(event: &Event) -> u64 {
    let bytes = match event {
        Event::Delta { text, .. } => text.len(),
        Event::PartStarted { .. } => std::mem::size_of::<Event>(),
        Event::Started { .. }
        | Event::PartEnded { .. }
        | Event::Usage(_)
        | Event::Finished(_)
        | Event::Failed(_)
        | Event::KeepAlive => 0,
    };
    bytes as u64
}

#[cfg(test)]
mod tests {
    use dialects::{DeltaKind, FinishReason, PartKind};

    use super::*;

    fn delta(text: &str) -> Event {
        Event::Delta { index: 0, kind: DeltaKind::Text, text: text.to_owned() }
    }

    #[test]
    fn an_answer_holds_as_much_as_its_limit_and_no_byte_more() {
        let part = Event::PartStarted { index: 0, kind: PartKind::Text };
        let of_part = std::mem::size_of::<Event>() as u64;
        let mut folded = Folded::new(of_part + 8);
        for event in [part.clone(), delta("1234"), Event::KeepAlive, delta("5678"), Event::Finished(FinishReason::End)]
        {
            assert_eq!(folded.take(&event), Ok(()), "{event:?}");
        }
        assert_eq!(folded.answer().parts[0].text, "12345678");
        assert_eq!(folded.take(&delta("")), Ok(()));
        assert_eq!(folded.take(&delta("9")), Err(TooLarge));
        assert_eq!(folded.into_answer().parts[0].text, "12345678");
        // Parts without a word fill it as well.
        let mut folded = Folded::new(3 * of_part);
        let taken = std::iter::repeat(part).take_while(|part| folded.take(part).is_ok()).count();
        assert_eq!(taken, 3);
    }
}
