//! From a model name to ranked attempts, and to an answer when nothing is left.
//!
//! Pure decisions: [`resolution`] turns what the client wrote into a combo or, by way of [`resolve`], into a provider and a
//! model, [`combo`] into what may be asked, [`plan`] ranks it, [`order`] makes a list of that, [`decision`] says what to do after each failure, [`journey`]
//! remembers what one request went through, [`exhaustion`] says what to answer when the plan has run out. The gateway
//! performs; this crate only decides.

pub mod account;
pub mod affinity;
pub mod auto_name;
pub mod capability;
pub mod combo;
pub mod decision;
pub mod emergency;
pub mod exhaustion;
pub mod explanation;
pub mod journey;
pub mod lru;
pub mod memory;
pub mod order;
pub mod plan;
pub mod quota_share;
pub mod resolution;
pub mod resolve;
pub mod score;
pub mod self_healing;
pub mod stickiness;
pub mod strategies;
pub mod target;
pub mod view;
pub mod window;

pub use combo::{Combo, Strategy};
pub use journey::Journey;
pub use memory::Memory;
pub use plan::{Attempt, Plan, Route, plan};
pub use resolution::{ComboNames, Resolution, resolve_name};
pub use resolve::{NameTable, NotFound, Resolved, resolve};
pub use target::Target;
pub use view::View;
