//! Requests of this dialect, read and written.

use crate::canonical::{Request, Target, Written};
use crate::translate::Refusal;

pub(crate) fn read(_body: &[u8], _model: &str, _stream: bool) -> Result<Request, Refusal> {
    Err(Refusal::new("body", "is not read yet"))
}

pub(crate) fn write(_request: &Request, _target: &Target) -> Result<Written, Refusal> {
    Err(Refusal::new("body", "is not written yet"))
}
