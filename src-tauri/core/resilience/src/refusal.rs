//! Refusals of this gateway's own: nobody's health is touched by any of them (resilience specification, 1.4).

use domain::Exclusion;
use domain::wire::code;

use crate::concurrency_gate::GateKey;

/// Why a request did not get a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The candidate may not be tried, already at arrival or when its turn came.
    Excluded(Exclusion),
    Local(LocalLimit),
}

/// A limit of this gateway that was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalLimit {
    /// As many wait at this gate as may.
    GateFull(GateKey),
    /// Its patience ended at this gate.
    GateTimeout(GateKey),
    /// As many wait in the account's queue as may.
    QueueFull,
    /// The queue budget is spent; the upstream was never asked.
    QueueTimeout,
    /// The queue stood still because of requests that never came back.
    QueueWedged,
    /// The request was sent and took longer than the execution limit.
    ExecutionTimeout,
}

impl Refusal {}

impl LocalLimit {
    /// The error code on the wire.
    pub const fn code(&self) -> &'static str {
        match self {
            LocalLimit::GateFull(_) => code::SEMAPHORE_QUEUE_FULL,
            LocalLimit::GateTimeout(_) => code::SEMAPHORE_TIMEOUT,
            LocalLimit::QueueFull => code::RATE_LIMIT_QUEUE_FULL,
            LocalLimit::QueueTimeout => code::RATE_LIMIT_QUEUE_TIMEOUT,
            LocalLimit::QueueWedged => code::RATE_LIMIT_QUEUE_WEDGED,
            LocalLimit::ExecutionTimeout => code::RATE_LIMIT_EXECUTION_TIMEOUT,
        }
    }

    /// The HTTP status.
    pub const fn status(&self) -> u16 {
        match self {
            LocalLimit::GateFull(_) | LocalLimit::QueueFull => 429,
            LocalLimit::GateTimeout(_) | LocalLimit::QueueTimeout | LocalLimit::QueueWedged => 503,
            LocalLimit::ExecutionTimeout => 504,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_its_code_and_status() {
        // QS-14
        for (limit, code, status) in [
            (LocalLimit::GateTimeout(GateKey::Global), "SEMAPHORE_TIMEOUT", 503),
            (LocalLimit::GateFull(GateKey::Global), "SEMAPHORE_QUEUE_FULL", 429),
            (LocalLimit::QueueFull, "RATE_LIMIT_QUEUE_FULL", 429),
            (LocalLimit::QueueTimeout, "RATE_LIMIT_QUEUE_TIMEOUT", 503),
            (LocalLimit::QueueWedged, "RATE_LIMIT_QUEUE_WEDGED", 503),
            (LocalLimit::ExecutionTimeout, "RATE_LIMIT_EXECUTION_TIMEOUT", 504),
        ] {
            assert_eq!((limit.code(), limit.status()), (code, status));
        }
    }
}
