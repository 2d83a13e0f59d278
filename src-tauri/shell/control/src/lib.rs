//! Every management operation once, and its REST adapter.

pub mod error;
pub mod topics;
pub mod view;

pub use error::{ControlError, FieldProblem};
pub use topics::{Operation, operations};
