//! Stage 5: takes what an attempt needs before anything is translated or sent.

use domain::{Exclusion, Limits, Millis};
use resilience::{Admission, Admitted, Caller, ComboGate, GateKey, Patience, Permit, Refusal};

use crate::attempt::{Attempt, Kept};
use crate::engine_handle::Entry;
use crate::gateway::Gateway;
use crate::plan::Step;
use crate::translate::truncates_tools;

/// Requests that may wait at one gate without a combo, whose own `queueDepth` would say so otherwise (decision 0007): an
/// agent that sends fifty at once to an account with one place gets fifty answers.
const DEPTH: u32 = 100;

/// How a request waits that no combo tells otherwise.
pub(crate) fn patience() -> Patience {
    Patience { depth: Some(DEPTH), ..Patience::default() }
}

/// On what terms an attempt asks to be let in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub(crate) caller: Caller,
    /// Tools that the request brings.
    pub(crate) tools: u32,
    /// An account whose quota runs out is left out.
    pub(crate) quota_cutoff: bool,
    /// The gate that only its combo has.
    pub(crate) combo_gate: Option<ComboGate<'a>>,
    pub(crate) patience: Patience,
}

impl Terms<'_> {
    /// Those of a request that names one model.
    pub(crate) fn direct(tools: u32) -> Self {
        Terms { caller: Caller::Direct, tools, quota_cutoff: true, combo_gate: None, patience: patience() }
    }

    fn admission<'a>(
        &'a self,
        gateway: &Gateway,
        step: &'a Step,
        limits: &'a Limits,
        kept: &'a [GateKey],
    ) -> Admission<'a> {
        let own = step.provider.start_timeout;
        Admission {
            tools: if truncates_tools(gateway) { 0 } else { self.tools },
            quota_cutoff: self.quota_cutoff,
            combo_gate: self.combo_gate,
            kept,
            patience: self.patience,
            response_start: own.unwrap_or(gateway.settings().network.response_start_timeout),
            ..Admission::new(&step.candidate, limits, self.caller)
        }
    }
}

/// The permit for one attempt, in its guard, for who will not wait. It goes on in the places `kept` from the attempt before,
/// which are given up where they are another account's.
pub(crate) fn at_once(
    gateway: &Gateway,
    step: &Step,
    terms: &Terms<'_>,
    kept: &mut Option<Kept>,
) -> Result<Attempt, Exclusion> {
    let limits = step.entry.connection.limits(step.provider.limits);
    match gateway.engine().admit(&terms.admission(gateway, step, &limits, gates_at(step, kept))) {
        Admitted::Permit(permit) => Ok(begun(gateway, permit, kept)),
        Admitted::Refused(exclusion) => Err(exclusion),
    }
}

/// The gates of the account at which there is a place already.
fn gates_at<'k>(step: &Step, kept: &'k mut Option<Kept>) -> &'k [GateKey] {
    kept.take_if(|kept| !kept.is_at(&step.candidate.connection));
    kept.as_ref().map_or(&[], Kept::gates)
}

fn begun(gateway: &Gateway, permit: Permit, kept: &mut Option<Kept>) -> Attempt {
    let mut attempt = Attempt::new(gateway.engine().clone(), permit, gateway.now());
    if let Some(kept) = kept.take() {
        attempt.put_back(kept);
    }
    attempt
}

/// A permit, and how long it was waited for.
pub(crate) struct Turned {
    pub(crate) attempt: Attempt,
    pub(crate) queued: Millis,
}

/// The same for who waits for a place. Whoever drops this gives the place up.
pub(crate) async fn in_turn(
    gateway: &Gateway,
    step: &Step,
    terms: &Terms<'_>,
    kept: &mut Option<Kept>,
) -> Result<Turned, Refusal> {
    let limits = step.entry.connection.limits(step.provider.limits);
    let came = gateway.now();
    let entry = gateway.engine().enter(&terms.admission(gateway, step, &limits, gates_at(step, kept)));
    let permit = match entry {
        Entry::Permit(permit) => permit,
        Entry::Refused(refusal) => return Err(refusal),
        Entry::Place(place) => place.turn().await?,
    };
    Ok(Turned { attempt: begun(gateway, permit, kept), queued: gateway.now().since(came) })
}
