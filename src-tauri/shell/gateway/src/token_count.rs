//! Counting a request's tokens for a client that asks, where the upstream does not count (gateway specification, 2.15).
//!
//! Texts are counted with a real vocabulary, `o200k_base`: exact for OpenAI's newer models, and within about a fifth for
//! others, whose vendors publish none. It is some 25 MB once it is unpacked, which an idle gateway must not hold: it is
//! unpacked when it is first needed, on a thread that may take its time, and given back ten minutes after its last use.
//! What it cannot count is estimated by characters. Which of the two it was stands in the reply's warning.

use std::sync::{Arc, OnceLock};

use domain::{Millis, Operation, Timestamp};
use parking_lot::Mutex;
use tiktoken::CoreBpe;
use tokio::sync::Semaphore;

use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::usage_estimate;

const BY_VOCABULARY: &str = "TOKENS_ESTIMATED:o200k_base";
const BY_CHARACTERS: &str = "TOKENS_ESTIMATED:characters";
/// How long an upstream may take to begin: an estimate that comes at once serves an agent better than a late count.
const COUNT_LIMIT: Millis = Millis::seconds(10);
/// How long the vocabulary is kept after its last use.
const KEPT: Millis = Millis::minutes(10);
/// Requests counted at the same time: it is work for a processor, and others need them too.
const AT_ONCE: usize = 2;
/// The largest body that is counted with the vocabulary, in bytes. One without any white space takes 0.4 s for each MB.
const LARGEST: usize = 8 * 1024 * 1024;

/// What a request weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) tokens: u64,
    /// Code of the warning: that it is an estimate, and how it was made.
    pub(crate) warning: &'static str,
}

/// The vocabulary, while it is needed.
pub(crate) struct Tokenizer {
    turns: Semaphore,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// Empty until somebody counts.
    vocabulary: Arc<OnceLock<CoreBpe>>,
    used_at: Timestamp,
    /// Somebody waits for the time to give it back.
    is_watched: bool,
}

impl Default for Tokenizer {
    fn default() -> Self {
        Tokenizer { turns: Semaphore::new(AT_ONCE), kept: Mutex::default() }
    }
}

/// The longest that an upstream may take to answer, where that is shorter than usual; `wished` is the caller's own limit.
pub(crate) fn start_limit(operation: Operation, wished: Option<Millis>) -> Option<Millis> {
    wished.into_iter().chain(operation.counts_tokens().then_some(COUNT_LIMIT)).min()
}

/// The tokens of a request that asks for their number.
pub(crate) async fn estimate(gateway: &Gateway, request: &Arc<ClientRequest>) -> Estimate {
    if let Some(tokens) = by_vocabulary(gateway, request).await {
        return Estimate { tokens, warning: BY_VOCABULARY };
    }
    let tokens = request.asked_aside(gateway).await.map_or_else(
        |_| request.estimated_input(),
        |asked| usage_estimate::of_asked(asked, &|text| usage_estimate::of_text_bytes(text.as_bytes())),
    );
    Estimate { tokens, warning: BY_CHARACTERS }
}

async fn by_vocabulary(gateway: &Gateway, request: &Arc<ClientRequest>) -> Option<u64> {
    if request.body.len() > LARGEST {
        return None;
    }
    let tokenizer = Arc::clone(&gateway.memo().lock().tokenizer);
    let _turn = tokenizer.turns.acquire().await.ok()?;
    let (vocabulary, request) = (borrow(gateway, &tokenizer), Arc::clone(request));
    let counting = move || {
        let asked = request.asked().ok()?;
        let vocabulary = vocabulary.get_or_init(tiktoken::encoding::o200k_base);
        Some(usage_estimate::of_asked(asked, &|text| vocabulary.count(text) as u64))
    };
    gateway.tracker().spawn_blocking(counting).await.ok()?
}

/// The vocabulary, and somebody who gives it back.
fn borrow(gateway: &Gateway, tokenizer: &Arc<Tokenizer>) -> Arc<OnceLock<CoreBpe>> {
    let mut kept = tokenizer.kept.lock();
    kept.used_at = gateway.now();
    if !std::mem::replace(&mut kept.is_watched, true) {
        gateway.tracker().spawn(give_back(gateway.clone(), Arc::clone(tokenizer)));
    }
    Arc::clone(&kept.vocabulary)
}

/// Waits until nobody has counted for long, or the gateway stops.
async fn give_back(gateway: Gateway, tokenizer: Arc<Tokenizer>) {
    loop {
        let due = tokenizer.kept.lock().used_at + KEPT;
        tokio::select! {
            () = gateway.cancel().cancelled() => return,
            () = gateway.clock().sleep_until(due) => {}
        }
        let mut kept = tokenizer.kept.lock();
        if gateway.now() >= kept.used_at + KEPT {
            *kept = Kept::default();
            return;
        }
    }
}
