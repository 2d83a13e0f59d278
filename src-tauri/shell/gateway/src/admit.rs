//! Stage 5: takes what an attempt needs before anything is translated or sent.

use domain::{Candidate, Exclusion};
use resilience::{Admission, Admitted, Caller};

use crate::address_book::Entry;
use crate::attempt::Attempt;
use crate::gateway::Gateway;

/// The permit for one attempt, in its guard.
pub(crate) fn admit(gateway: &Gateway, candidate: &Candidate, entry: &Entry) -> Result<Attempt, Exclusion> {
    let limits = entry.connection.limits();
    let admission = Admission::new(candidate, &limits, Caller::Direct);
    match gateway.engine().admit(&admission) {
        Admitted::Permit(permit) => Ok(Attempt::new(gateway.engine().clone(), permit)),
        Admitted::Refused(exclusion) => Err(exclusion),
    }
}
