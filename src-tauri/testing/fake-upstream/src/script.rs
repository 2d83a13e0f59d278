//! Which step a request meets: a queue per (key, model), the most particular one first.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::step::Step;

/// The model under which model lists are scripted. Without such a script they are answered from the models known.
pub const LIST_MODELS: &str = "GET models";
/// The model under which token counting is scripted, in both dialects that have it. Without such a script it counts.
pub const COUNT_TOKENS: &str = "count tokens";

/// All scripts of a server.
#[derive(Debug, Default)]
pub(crate) struct Scripts {
    keyed: HashMap<String, Queues>,
    any_key: Queues,
}

#[derive(Debug, Default)]
struct Queues {
    named: HashMap<String, Queue>,
    any_model: Option<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    steps: VecDeque<Arc<Step>>,
    cycle: bool,
}

/// The script of one (key, model), being written. Every method takes effect at once.
#[derive(Clone, Debug)]
pub struct Script {
    scripts: Arc<Mutex<Scripts>>,
    key: Option<String>,
    model: Option<String>,
}

impl Script {
    pub(crate) fn start(scripts: Arc<Mutex<Scripts>>, key: Option<&str>, model: Option<&str>) -> Script {
        let script = Script { scripts, key: key.map(str::to_owned), model: model.map(str::to_owned) };
        script.change(|queue| *queue = Queue::default());
        script
    }

    /// Adds a step. The last one repeats for ever.
    pub fn then(self, step: Step) -> Script {
        self.times(1, step)
    }

    /// Adds the same step several times.
    pub fn times(self, count: usize, step: Step) -> Script {
        let step = Arc::new(step);
        self.change(|queue| queue.steps.extend(std::iter::repeat_n(step, count)));
        self
    }

    /// After the last step the first one follows, instead of the last for ever.
    pub fn cycle(self) -> Script {
        self.change(|queue| queue.cycle = true);
        self
    }

    fn change(&self, change: impl FnOnce(&mut Queue)) {
        let mut scripts = self.scripts.lock();
        let queues = match &self.key {
            Some(key) => scripts.keyed.entry(key.clone()).or_default(),
            None => &mut scripts.any_key,
        };
        let queue = match &self.model {
            Some(model) => queues.named.entry(model.clone()).or_default(),
            None => queues.any_model.get_or_insert_default(),
        };
        change(queue);
    }
}

impl Scripts {
    /// Whether any script concerns this key.
    pub(crate) fn knows(&self, key: Option<&str>) -> bool {
        !self.any_key.is_empty() || key.is_some_and(|key| self.keyed.contains_key(key))
    }

    /// Takes the next step for a request that names this model, or none when no script matches.
    pub(crate) fn next(&mut self, key: Option<&str>, model: Option<&str>) -> Option<Arc<Step>> {
        let keyed = key.and_then(|key| self.keyed.get_mut(key)).and_then(|queues| queues.next(model));
        keyed.or_else(|| self.any_key.next(model))
    }

    /// Takes the next step of a script made for exactly this name.
    pub(crate) fn next_named(&mut self, key: Option<&str>, name: &str) -> Option<Arc<Step>> {
        let keyed = key.and_then(|key| self.keyed.get_mut(key)).and_then(|queues| queues.named.get_mut(name));
        keyed.and_then(Queue::next).or_else(|| self.any_key.named.get_mut(name).and_then(Queue::next))
    }

    /// The model names that scripts of this key mention, sorted.
    pub(crate) fn models(&self, key: Option<&str>) -> Vec<String> {
        let keyed = key.and_then(|key| self.keyed.get(key));
        let mut names: Vec<String> = keyed
            .into_iter()
            .chain([&self.any_key])
            .flat_map(|queues| queues.named.keys())
            .filter(|name| ![LIST_MODELS, COUNT_TOKENS].contains(&name.as_str()))
            .cloned()
            .collect();
        names.sort();
        names.dedup();
        names
    }
}

impl Queues {
    fn is_empty(&self) -> bool {
        self.named.is_empty() && self.any_model.is_none()
    }

    fn next(&mut self, model: Option<&str>) -> Option<Arc<Step>> {
        let named = model.and_then(|model| self.named.get_mut(model)).and_then(Queue::next);
        named.or_else(|| self.any_model.as_mut().and_then(Queue::next))
    }
}

impl Queue {
    fn next(&mut self) -> Option<Arc<Step>> {
        if self.steps.len() < 2 {
            return self.steps.front().cloned();
        }
        let step = self.steps.pop_front()?;
        if self.cycle {
            self.steps.push_back(step.clone());
        }
        Some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts() -> Arc<Mutex<Scripts>> {
        Arc::default()
    }

    fn taken(scripts: &Arc<Mutex<Scripts>>, key: &str, model: &str) -> String {
        match scripts.lock().next(Some(key), Some(model)).as_deref() {
            Some(Step::Ok(text)) => text.clone(),
            _ => "-".to_owned(),
        }
    }

    #[test]
    fn the_last_step_repeats() {
        let scripts = scripts();
        Script::start(scripts.clone(), Some("k"), Some("m")).then(Step::ok("1")).then(Step::ok("2"));
        let seen: String = (0..4).map(|_| taken(&scripts, "k", "m")).collect();
        assert_eq!(seen, "1222");
    }

    #[test]
    fn a_cycle_starts_over() {
        let scripts = scripts();
        Script::start(scripts.clone(), None, None).times(2, Step::ok("1")).then(Step::ok("2")).cycle();
        let seen: String = (0..7).map(|_| taken(&scripts, "k", "m")).collect();
        assert_eq!(seen, "1121121");
    }

    #[test]
    fn the_most_particular_script_wins() {
        let scripts = scripts();
        for (key, model, text) in
            [(None, None, "any"), (None, Some("m"), "model"), (Some("k"), None, "key"), (Some("k"), Some("m"), "both")]
        {
            Script::start(scripts.clone(), key, model).then(Step::ok(text));
        }
        for (key, model, expected) in [("k", "m", "both"), ("k", "x", "key"), ("x", "m", "model"), ("x", "x", "any")] {
            assert_eq!(taken(&scripts, key, model), expected);
        }
    }

    #[test]
    fn writing_a_script_again_replaces_it() {
        let scripts = scripts();
        Script::start(scripts.clone(), Some("k"), None).then(Step::ok("old"));
        Script::start(scripts.clone(), Some("k"), None).then(Step::ok("new"));
        assert_eq!(taken(&scripts, "k", "m"), "new");
    }
}
