//! What routing remembers, in the shell: one lock beside the Engine's, held for one call, never across an await.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Clock;
use parking_lot::Mutex;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;
use routing::combo::{Combo, Config, Expansion};
use routing::memory::Dispatch;
use routing::plan::Refusal;
use routing::view::RequestFacts;
use routing::{Memory, Plan, Route, View};
use settings::Settings;

/// Strategies are asked through here.
pub(crate) struct RoutingHandle {
    state: Mutex<State>,
    configs: Mutex<BTreeMap<String, Known>>,
    clock: Arc<dyn Clock>,
}

struct State {
    memory: Memory,
    rng: ChaCha12Rng,
}

/// The numbers of a combo, and what they were worked out from.
struct Known {
    combo: Arc<Combo>,
    settings: Arc<Settings>,
    config: Arc<Config>,
}

impl RoutingHandle {
    pub(crate) fn new(clock: Arc<dyn Clock>, rng: ChaCha12Rng) -> Self {
        RoutingHandle { state: Mutex::new(State { memory: Memory::default(), rng }), configs: Mutex::default(), clock }
    }

    /// Plans one request; its turn is taken.
    pub(crate) fn plan(&self, route: &Route<'_>, expansion: Expansion, view: &View<'_>) -> Result<Plan, Refusal> {
        let State { memory, rng } = &mut *self.state.lock();
        routing::plan(route, expansion, view, memory, rng)
    }

    /// A copy of what strategies remember, for whoever plans without sending anything.
    pub(crate) fn memory(&self) -> Memory {
        self.state.lock().memory.clone()
    }

    /// What the plan of a request would be: nobody's turn is taken. The memory it was made with goes along, for the figures.
    pub(crate) fn preview(
        &self,
        route: &Route<'_>,
        expansion: Expansion,
        view: &View<'_>,
    ) -> (Result<Plan, Refusal>, Memory) {
        let (mut memory, mut rng) = {
            let state = self.state.lock();
            (state.memory.clone(), state.rng.clone())
        };
        (routing::plan(route, expansion, view, &mut memory, &mut rng), memory)
    }

    /// The numbers of a combo; `work_out` is asked when combo or settings are others than last time.
    pub(crate) fn config(
        &self,
        combo: &Arc<Combo>,
        settings: &Arc<Settings>,
        work_out: impl FnOnce() -> Config,
    ) -> Arc<Config> {
        let mut configs = self.configs.lock();
        if let Some(known) = configs.get(&combo.id)
            && Arc::ptr_eq(&known.combo, combo)
            && Arc::ptr_eq(&known.settings, settings)
        {
            return Arc::clone(&known.config);
        }
        let config = Arc::new(work_out());
        let known = Known { combo: Arc::clone(combo), settings: Arc::clone(settings), config: Arc::clone(&config) };
        configs.insert(combo.id.clone(), known);
        config
    }

    /// Forgets the numbers of combos that are gone.
    pub(crate) fn forget_configs(&self, exists: impl Fn(&str) -> bool) {
        self.configs.lock().retain(|id, _| exists(id));
    }

    /// Brings a list into an order that says nothing.
    pub(crate) fn shuffle<T>(&self, list: &mut [T]) {
        list.shuffle(&mut self.state.lock().rng);
    }

    /// A request goes out to a target of a combo.
    pub(crate) fn dispatched(&self, dispatch: &Dispatch<'_>) {
        let now = self.clock.now();
        self.state.lock().memory.dispatched(dispatch, now);
    }

    /// It was answered well.
    pub(crate) fn served(&self, dispatch: &Dispatch<'_>, facts: &RequestFacts) {
        let now = self.clock.now();
        self.state.lock().memory.served(dispatch, facts, now);
    }

    /// It failed by the upstream's doing.
    pub(crate) fn failed(&self, dispatch: &Dispatch<'_>) {
        let now = self.clock.now();
        self.state.lock().memory.failed(dispatch, now);
    }
}
