//! Durations, sorted and printed.

use std::time::Duration;

/// Measured durations in order.
pub struct Sample(Vec<Duration>);

impl Sample {
    pub fn new(mut durations: Vec<Duration>) -> Sample {
        durations.sort_unstable();
        Sample(durations)
    }

    pub fn p50(&self) -> Duration {
        self.at(50)
    }

    pub fn p99(&self) -> Duration {
        self.at(99)
    }

    /// Zero when nothing was measured.
    fn at(&self, percent: usize) -> Duration {
        let index = (self.0.len() * percent / 100).min(self.0.len().saturating_sub(1));
        self.0.get(index).copied().unwrap_or_default()
    }
}

pub fn micros(duration: Duration) -> String {
    let micros = duration.as_secs_f64() * 1e6;
    if micros < 10.0 {
        return format!("{micros:.2} µs");
    }
    if micros < 10_000.0 { format!("{micros:.0} µs") } else { format!("{:.1} ms", micros / 1e3) }
}
