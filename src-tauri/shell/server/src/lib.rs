//! Composition root: configuration and clock in, running gateway out.
//!
//! [`run`] opens the store, folds the settings, builds the gateway and binds its listener; [`Running`] is the handle to
//! what then runs. Everything that acts on its own, such as the accept loops, lives in one task tracker and ends with
//! [`Running::shutdown`]: stop accepting, let streams finish up to a limit, write what waits, close.
//!
//! | file | does |
//! | --- | --- |
//! | `clock.rs`, `timer.rs` | the two clocks, and hyper's timer over them |
//! | `place.rs` | where to listen: addresses, ports, binding |
//! | `listener.rs` | accepting, serving, moving to another place |
//! | `workers.rs` | the threads that serve |
//! | `linger.rs` | reading on after a refusal |
//! | `data_folder.rs`, `gateway_file.rs`, `config_file.rs` | files |
//! | `housekeeping.rs` | retention, and settings that reach into running parts |
//! | `logging.rs` | where log lines go |

mod clock;
mod config_file;
mod data_folder;
mod error;
mod gateway_file;
mod housekeeping;
mod linger;
mod listener;
pub mod logging;
mod place;
mod running;
mod timer;
mod workers;

pub use domain::wire;

pub use clock::{ManualClock, SystemClock};
pub use data_folder::data_folder;
pub use error::{ConfigFileError, ShutdownError, StartError};
pub use gateway_file::GatewayFile;
pub use running::{Config, Running, VERSION, run};
pub use workers::suitable_workers;
