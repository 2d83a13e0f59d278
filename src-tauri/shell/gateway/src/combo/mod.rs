//! Requests to combos: from the name to an answer (gateway specification, 3).
//!
//! `routing` decides, this folder performs. [`book`] looks up what a combo's steps lead to, [`walk`] asks one target after
//! another, [`hedge`] gives a slow one company, both by way of [`account`], [`panel`] asks several at once for `fusion`, [`chain`] feeds one answer
//! into the next for `pipeline`, [`perform`] calls each where a plan says so, also that of a combo within, [`answer`] finds
//! the words when nobody served, and [`back`] the wait that they announce, [`handoff`] sums a conversation up for the next account, [`head_room`] lets models think
//! beside the answer.
//!
//! [`preview`] and [`selections`] ask the same functions about requests that nobody sent.

mod account;
mod answer;
mod back;
mod book;
mod chain;
mod handoff;
mod head_room;
mod hedge;
mod panel;
mod perform;
mod preview;
mod selections;
mod sub_request;
mod walk;

use std::sync::{Arc, LazyLock};

use axum::response::Response;
use domain::client_key::ClientKey;
use domain::request_log::ExclusionRecord;
use domain::wire::reason;
use domain::{Availability, Exclusion, Millis, Timestamp};
use resilience::cooldown_wait::{Decision, Spent};
use routing::auto_name::{self, AutoName};
use routing::combo::{Combo, Config, Expansion, Skipped, Strategy, expand};
use routing::decision::Stop;
use routing::journey::Exhausted;
use routing::order::Around;
use routing::plan::{LeftOut, Refusal, Taste};
use routing::quota_share::leases::Lease;
use routing::quota_share::{Pool, PoolModel};
use routing::score::fitness::Layers;
use routing::strategies::auto::Profile;
use routing::view::RequestFacts;
use routing::{Plan, Route, Target, View};
use store::StoredPool;

use crate::attempt_loop;
use crate::combos::config_of;
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::pause;
use crate::quota_pools::Share;
use crate::record::Recorder;
use crate::request_facts;
use crate::resolve::forbidden;

use book::GatewayBook;
pub(crate) use book::{bare as bare_target, facts as facts_of};
pub use book::{catalogued, models_of, sessions_free, weighed};
use perform::perform;
pub use preview::ComboTarget;
pub(crate) use preview::explain as explain_combo;
pub use selections::{Selected, Selections};
use walk::{Answered, Ended, Scene};

/// Why a target without any account is skipped.
const NO_CONNECTION: &str = "no_connection";

/// A combo, as one request asks it.
pub(crate) struct Asked {
    pub(crate) combo: Arc<Combo>,
    pub(crate) config: Arc<Config>,
    /// It was put together for a name of this kind and stands nowhere.
    auto: Option<(AutoName, Profile)>,
    /// It was put together for a model of this pool.
    pool: Option<Arc<StoredPool>>,
    /// The key is beyond its share, and leaves room for others.
    pub(crate) lowered: bool,
}

impl Asked {
    pub(crate) fn new(gateway: &Gateway, combo: Arc<Combo>) -> Self {
        let config = book::config(gateway, &combo);
        Asked { combo, config, auto: None, pool: None, lowered: false }
    }

    /// The combo behind `auto`, `auto/…`: every model of every account, scored anew for each request (gateway
    /// specification, 3.5).
    pub(crate) fn of_auto(gateway: &Gateway, name: &str) -> Option<Self> {
        let auto = AutoName::parse(name)?;
        let combo = Arc::new(Combo::made_up(name, Strategy::Auto));
        let config = book::config(gateway, &combo);
        let profile = auto.profile();
        Some(Asked { combo, config, auto: Some((auto, profile)), pool: None, lowered: false })
    }

    /// The combo behind a model of a quota pool (gateway specification, 3.6).
    pub(crate) fn of_pool(gateway: &Gateway, named: &PoolModel) -> Option<Self> {
        let (combo, pool) = gateway.quota_pools().combo(named, &gateway.catalog(), &gateway.connections())?;
        Some(Asked { pool: Some(pool), ..Asked::of_draft(gateway, combo) })
    }

    /// A combo that stands nowhere yet, or not so.
    pub(crate) fn of_draft(gateway: &Gateway, combo: Combo) -> Self {
        let config = Arc::new(config_of(&combo, &gateway.settings()));
        Asked { combo: Arc::new(combo), config, auto: None, pool: None, lowered: false }
    }

    pub(crate) const fn is_auto(&self) -> bool {
        self.auto.is_some()
    }

    /// Whether a key may ask for it: by the key's own list, or because a pool gives the key a share.
    pub(crate) fn is_open_to(&self, key: &ClientKey) -> bool {
        let shares = |pool: &Pool| pool.allocations.iter().any(|allocation| allocation.api_key_id == key.id);
        self.pool().is_some_and(shares) || key.allows_combo(&self.combo.name)
    }

    /// What a key's list of candidates that `auto` leaves out calls this pool.
    fn channel(&self) -> &str {
        self.combo.name.strip_prefix("auto/").unwrap_or(&self.combo.name)
    }

    pub(crate) fn pool(&self) -> Option<&Pool> {
        self.pool.as_ref().map(|stored| &stored.pool)
    }

    fn route(&self) -> Route<'_> {
        Route::Combo {
            strategy: self.combo.strategy,
            tiers: self.combo.composite_tiers.as_ref(),
            protects_cache: self.combo.context_cache_protection,
            taste: self.auto.as_ref().map(|(_, profile)| Taste { profile, layers: fitness_layers() }),
        }
    }
}

/// How often the set was tried, and how long the request has waited.
#[derive(Default)]
struct Effort {
    sets: u32,
    spent: Spent,
}

/// Plans and asks until somebody answers or waiting no longer helps.
pub(crate) async fn run(
    gateway: &Gateway,
    request: &ClientRequest,
    asked: &Asked,
    mut recorder: Box<Recorder>,
) -> Response {
    // A request that cannot be read is asked as it is: whoever gets it says what is wrong.
    let told = asked.combo.system_message.as_deref().filter(|text| !text.is_empty());
    if told.is_some() {
        request.read_aside(gateway).await;
    }
    let told = told.and_then(|text| sub_request::told(request, text).ok());
    let request = told.as_ref().unwrap_or(request);
    recorder.of_combo(&asked.combo.name, asked.combo.strategy.as_str());
    // Counting tokens uses nothing of what is shared.
    if let Some(pool) = asked.pool.as_ref().filter(|_| !request.operation.counts_tokens()) {
        recorder.of_pool(Share::new(gateway, pool), asked.lowered);
    }
    let facts = request_facts::of(request, asked.combo.may_weigh_tasks());
    let begun = gateway.now();
    let deadline = begun + asked.config.time_limit();
    let mut effort = Effort::default();
    loop {
        let freed = gateway.engine().freed();
        let (expansion, pool_size) = expansion(gateway, request, asked);
        if request.key.as_ref().is_some_and(|key| is_out_of_reach(key, asked, &expansion)) {
            let error = forbidden(request.requested_model());
            return attempt_loop::refuse_with(gateway, request, None, &error, recorder);
        }
        recorder.holds(None);
        let plan = match plan(gateway, asked, &facts, expansion) {
            Ok((plan, lease)) => {
                recorder.holds(lease);
                plan
            }
            Err(refusal) => return answer::refused(gateway, request, asked, pool_size, &refusal, recorder),
        };
        let left_out: Vec<(&Target, &LeftOut)> = plan.left_out().collect();
        recorder.journey.exclusions = left_out.iter().map(|(target, why)| target.left_out(why.exclusion())).collect();
        let scene = Scene { gateway, asked, facts: &facts, deadline };
        let around = Around::new(&asked.combo.name, asked.combo.strategy, &asked.config);
        let ended = perform(&scene, request, &around, &plan, recorder).await;
        let end = match ended {
            Ended::Answered(answered) => {
                let Answered { served, step, attempt, recorder } = *answered;
                handoff::consider(&scene, request, &step);
                return attempt_loop::answer(gateway, request, &step, served, attempt, recorder);
            }
            Ended::Nobody(end) => *end,
        };
        let Some(pause) = goes_on(gateway, request, asked, &end, &mut effort, deadline) else {
            let back_at = back::of(gateway, request, asked, &plan);
            return answer::nobody(gateway, request, asked, pool_size, &left_out, back_at, end);
        };
        recorder = end.recorder;
        let until = gateway.now() + pause;
        recorder.waits_until(until, &kept_away(gateway, request, asked).unwrap_or_default());
        pause::until(gateway, until, freed, || kept_away(gateway, request, asked).is_none()).await;
        // Everything is looked at afresh: what failed before the pause may serve now.
        recorder.journey.exhausted = Exhausted::default();
    }
}

/// What the combo's steps lead to now, and how many targets there are altogether.
fn expansion(gateway: &Gateway, request: &ClientRequest, asked: &Asked) -> (Expansion, usize) {
    let book = GatewayBook::new(gateway, request, asked.combo.strategy);
    let asker = routing::combo::Asker { key: request.key.as_deref(), requested: request.requested_model() };
    let expansion = expanded(asked, &asker, &book);
    let size = expansion.targets.len();
    (expansion, size)
}

fn expanded(asked: &Asked, asker: &routing::combo::Asker<'_>, book: &GatewayBook<'_>) -> Expansion {
    let mut expansion: Expansion = match &asked.auto {
        None => expand(&asked.combo, &asked.config, asker, book),
        Some((name, _)) => auto_name::candidates(name, book.everything(asked.channel()), fitness_layers()).into(),
    };
    // Without an account there is nobody to spare or to wait for.
    let alone = expansion.targets.extract_if(.., |target| !book.has_accounts(target));
    let skipped = alone.map(|target| Skipped {
        what: format!("{}/{}", target.provider, target.model),
        reason: if book.is_out_of_reach(&target) { reason::KEY_ALLOW_LIST } else { NO_CONNECTION },
        step: target.execution_key,
    });
    expansion.skipped.extend(skipped.collect::<Vec<_>>());
    expansion
}

/// Whether nothing is left of a combo because of what the key may use.
fn is_out_of_reach(key: &ClientKey, asked: &Asked, expansion: &Expansion) -> bool {
    let barred = || expansion.skipped.iter().any(|skipped| skipped.reason == reason::KEY_ALLOW_LIST);
    expansion.targets.is_empty() && (barred() || asked.is_auto() && key.is_narrowed())
}

/// A plan, and of a pool the lease of the account that is asked first.
type Planned = Result<(Plan, Option<Lease>), Refusal>;

fn plan(gateway: &Gateway, asked: &Asked, facts: &RequestFacts, expansion: Expansion) -> Planned {
    let view = View { now: gateway.now(), combo: &asked.combo.name, config: &asked.config, request: facts };
    gateway.routing().plan(&asked.route(), expansion, &view)
}

/// How long to pause before everything is tried once more; none, it is not: the set may be repeated, or a short limit be
/// waited for (resilience specification, 15.2 and 15.3).
fn goes_on(
    gateway: &Gateway,
    request: &ClientRequest,
    asked: &Asked,
    end: &walk::End,
    effort: &mut Effort,
    deadline: Timestamp,
) -> Option<Millis> {
    if !end.may_go_on() || end.stop == Some(Stop::MaxAttempts) {
        return None;
    }
    let now = gateway.now();
    effort.sets += 1;
    if !end.recorder.journey.attempts.is_empty()
        && let Some(pause) = routing::decision::repeats_set(effort.sets, &asked.config)
    {
        return (now + pause < deadline).then_some(pause);
    }
    // Who is kept away now, after what was tried; while somebody is not, there is nothing to wait for.
    let (expansion, _) = expansion(gateway, request, asked);
    let kept_away: Option<Vec<Exclusion>> = expansion.targets.iter().map(spared).collect();
    let kept_away = kept_away?;
    let settings = gateway.settings();
    match settings.resilience.combo_cooldown_wait.decide(&kept_away, end.hint(), effort.spent, now) {
        Decision::Wait { until, length } if until < deadline => {
            effort.spent.add(length);
            Some(length)
        }
        Decision::Wait { .. } | Decision::TooLong { .. } | Decision::Never => None,
    }
}

/// What stands in the way of each target now; nothing once one of them can be asked.
fn kept_away(gateway: &Gateway, request: &ClientRequest, asked: &Asked) -> Option<Vec<ExclusionRecord>> {
    let record = |target: Target| {
        let exclusion = spared(&target)?;
        Some(target.left_out(exclusion))
    };
    expansion(gateway, request, asked).0.targets.into_iter().map(record).collect()
}

/// How well models suit tasks, as far as nobody says otherwise.
pub fn fitness_layers() -> &'static Layers {
    static LAYERS: LazyLock<Layers> = LazyLock::new(Layers::default);
    &LAYERS
}

fn spared(target: &Target) -> Option<Exclusion> {
    match &target.availability {
        Availability::Available => None,
        Availability::Excluded(exclusion) => Some(exclusion.clone()),
    }
}
