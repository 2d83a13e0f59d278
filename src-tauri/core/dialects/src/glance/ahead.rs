//! The pass over a body that is still arriving.
//!
//! Most of a large body is its conversation, and of that only the number of elements matters. So whole members, and whole
//! elements of the conversation, are read as they come; what is not whole yet is read again when there is more. When the
//! last byte arrives, little is left to do.

use domain::Operation;

use super::look::{Field, Look, Scan};
use super::{Glance, GlanceError, first_fault, from_fault, not_json};
use crate::json::{Kind, Scanner};

/// Looks at a body, ahead of its end where there is time for it.
#[derive(Debug)]
pub struct Glancer {
    look: Look,
    place: Place,
    /// Everything before this byte has been read.
    at: usize,
    /// Where the object opens.
    start: usize,
    /// Shorter than this, another try would read the same again in vain.
    worth_it_at: usize,
}

/// Where the reading stands: always between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    BeforeObject,
    BeforeMember,
    InConversation { elements: u32, tools: u32 },
    AfterMember,
    AfterObject,
}

impl Place {
    /// Brackets open there.
    fn depth(self) -> u32 {
        match self {
            Place::BeforeObject | Place::AfterObject => 0,
            Place::BeforeMember | Place::AfterMember => 1,
            Place::InConversation { .. } => 2,
        }
    }
}

impl Glancer {
    pub fn new(operation: Operation) -> Glancer {
        Glancer { look: Look::new(operation), place: Place::BeforeObject, at: 0, start: 0, worth_it_at: 0 }
    }

    /// Reads on in what has come so far. Each call shows the same body again, from its first byte, and more of it.
    pub fn ahead(&mut self, so_far: &[u8]) {
        if so_far.len() < self.worth_it_at {
            return;
        }
        // A fault may only mean that the rest is missing. Were it one indeed, the end will bring it up again.
        while self.place != Place::AfterObject {
            let seen = (self.place == Place::BeforeMember).then(|| self.look.clone());
            if self.step(so_far).is_err() {
                if let Some(seen) = seen {
                    self.look = seen;
                }
                break;
            }
        }
        self.worth_it_at = so_far.len() + (so_far.len() - self.at);
    }

    /// The body has come to its end.
    ///
    /// # Errors
    /// Those of [`glance`](super::glance()).
    pub fn finish(mut self, body: &[u8]) -> Result<Glance, GlanceError> {
        if let Err(error) = std::str::from_utf8(body) {
            return Err(not_json(body, error.valid_up_to(), "invalid UTF-8".to_owned()));
        }
        if self.place == Place::BeforeObject {
            match Scanner::new(body).peek() {
                Ok(Kind::Object) => {}
                Ok(_) => return Err(first_fault(body).unwrap_or(GlanceError::NotAnObject)),
                Err(fault) => return Err(from_fault(body, fault)),
            }
        }
        while self.place != Place::AfterObject {
            self.step(body).map_err(|fault| from_fault(body, fault))?;
        }
        Scanner::resume(body, self.at, 0).end().map_err(|fault| from_fault(body, fault))?;
        self.look.conclude(body, self.start)
    }

    /// Reads one member, or one element of the conversation. After a fault only `look` may have changed.
    fn step(&mut self, body: &[u8]) -> Scan<()> {
        let mut scanner = Scanner::resume(body, self.at, self.place.depth());
        let place = match self.place {
            Place::BeforeObject => {
                let (start, is_empty) = scanner.open_object()?;
                self.start = start;
                if is_empty { Place::AfterObject } else { Place::BeforeMember }
            }
            Place::BeforeMember => self.member(&mut scanner)?,
            Place::InConversation { elements, tools } => {
                let tools = tools.saturating_add(self.look.element(&mut scanner)?);
                let elements = elements.saturating_add(1);
                if scanner.closes_array()? {
                    self.look.elements(elements, tools, scanner.at());
                    Place::AfterMember
                } else {
                    Place::InConversation { elements, tools }
                }
            }
            Place::AfterMember if scanner.closes_object()? => Place::AfterObject,
            Place::AfterMember => Place::BeforeMember,
            Place::AfterObject => Place::AfterObject,
        };
        self.place = place;
        self.at = scanner.at();
        Ok(())
    }

    fn member(&mut self, scanner: &mut Scanner<'_>) -> Scan<Place> {
        let key = scanner.member_key()?;
        let field = self.look.field(scanner, &key);
        if field == Some(Field::Conversation) && scanner.peek()? == Kind::Array {
            if scanner.open_array()? {
                self.look.elements(0, 0, scanner.at());
                return Ok(Place::AfterMember);
            }
            return Ok(Place::InConversation { elements: 0, tools: 0 });
        }
        self.look.member(scanner, &key, field)?;
        // A number is whole only when something follows it.
        Ok(if scanner.closes_object()? { Place::AfterObject } else { Place::BeforeMember })
    }
}
