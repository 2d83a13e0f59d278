//! Which accounts to try, in which order.

use domain::{Availability, Candidate, Exclusion};

use crate::strategies::priority;

/// Where a resolved name leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// One provider and one model; its accounts by priority.
    Direct,
}

/// One account to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub candidate: Candidate,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Try in this order; stop at the first answer. The exclusions say who was left out and why.
    Ranked { attempts: Vec<Attempt>, excluded: Vec<(Candidate, Exclusion)> },
}

/// Ranks the candidates of a route. `availability` is the Engine's answer for each, asked once.
pub fn plan(route: Route, candidates: &[Candidate], mut availability: impl FnMut(&Candidate) -> Availability) -> Plan {
    let order = match route {
        Route::Direct => priority::rank(candidates),
    };
    let mut attempts = Vec::with_capacity(order.len());
    let mut excluded = Vec::new();
    for index in order {
        let candidate = candidates[index].clone();
        match availability(&candidate) {
            Availability::Available => attempts.push(Attempt { candidate }),
            Availability::Excluded(exclusion) => excluded.push((candidate, exclusion)),
        }
    }
    Plan::Ranked { attempts, excluded }
}

#[cfg(test)]
mod tests {
    use domain::Mechanism;

    use super::*;

    #[test]
    fn excluded_candidates_are_listed_with_their_reason_and_not_tried() {
        let candidates = ["c1", "c2"].map(|id| Candidate {
            provider: "p".into(),
            connection: id.into(),
            model: "m".to_owned(),
            priority: 1,
            enabled: id == "c2",
            nature: domain::Nature::default(),
        });
        let Plan::Ranked { attempts, excluded } = plan(Route::Direct, &candidates, |candidate| {
            if candidate.enabled {
                return Availability::Available;
            }
            Availability::Excluded(Exclusion {
                mechanism: Mechanism::SwitchedOff,
                reason: "switched_off".to_owned(),
                until: None,
                cause: None,
            })
        });
        assert_eq!(attempts.len(), 1);
        assert_eq!(attempts[0].candidate.connection.as_str(), "c2");
        assert_eq!(excluded[0].0.connection.as_str(), "c1");
    }
}
