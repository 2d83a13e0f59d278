//! What is known before a request is sent: quotas that were announced, and how many tools a provider takes.

use domain::quota::{Window, window};
use domain::{Mechanism, Millis, Quota};
use resilience::Admission;

use crate::broken::Broken;
use crate::world::{World, connection, provider};

/// Requests for this model bring many tools, those for the others none.
const WITH_TOOLS: usize = 2;
const MANY: u32 = 100;

impl World {
    /// An upstream, or its vendor, says how much of an account is used up.
    pub(crate) fn announced(&mut self, account: usize, percent: u8, resets_in: Option<u64>) -> Result<(), Broken> {
        let reset_at = resets_in.map(|length| self.now + Millis::new(length));
        let daily = Window::new(f64::from(percent) / 100.0, reset_at);
        let windows = [(window::DAILY.to_owned(), daily)].into_iter().collect();
        let effects = self.engine.note_quota(&connection(account), Quota { windows, ..Quota::default() });
        self.keep(effects)
    }

    /// A provider refuses a list of tools and names its limit.
    pub(crate) fn takes_tools(&mut self, account: usize, limit: u32) {
        self.engine.note_tool_limit(&provider(account), limit, self.now);
    }

    /// What a request for a model asks for beside a place.
    pub(crate) fn asking<'a>(&self, model: usize, admission: Admission<'a>) -> Admission<'a> {
        Admission { tools: tools(model), quota_cutoff: true, ..admission }
    }

    /// What stands in its way before anybody is asked.
    pub(crate) fn known_beforehand(&self, account: usize, model: usize) -> impl Iterator<Item = Mechanism> + use<> {
        let config = &self.settings.quota_preflight;
        let hardly_any = |window: &Window| {
            let stands = window.reset_at.is_none_or(|at| at > self.now);
            let left = |used: f64| ((1.0 - used) * 100.0).round();
            stands && window.percent_used.is_some_and(|used| left(used) <= f64::from(config.default_threshold_percent))
        };
        let quota = self.engine.quota(&connection(account));
        let used_up = config.enabled && quota.is_some_and(|quota| quota.windows.values().any(hardly_any));
        let limit = self.engine.tool_limit(&provider(account), None, self.now);
        let too_many = limit.is_some_and(|limit| tools(model) > limit);
        let stands = [(Mechanism::QuotaCutoff, used_up), (Mechanism::ToolLimit, too_many)];
        stands.into_iter().filter_map(|(mechanism, stands)| stands.then_some(mechanism))
    }
}

fn tools(model: usize) -> u32 {
    if model == WITH_TOOLS { MANY } else { 0 }
}
