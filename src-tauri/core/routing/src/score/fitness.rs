//! How well a model suits a task, 0–1 (gateway specification, 3.5).
//!
//! Layers, the first that knows the model and task wins: the user's own table, the catalogue's, the table this program
//! ships with (`fitness.toml`), and last a neutral value with small boosts for telling words in the id. Within a table the
//! longest pattern wins, and a pattern only matches whole segments: `gpt-5` is in `openai/gpt-5.1-mini`, not in `gpt-50`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::unit;
use crate::view::Task;

/// Fitness of the models that match one pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coding: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planning: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debugging: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation: Option<f64>,
    /// Every task the row does not name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<f64>,
}

impl Row {
    fn of(&self, task: Task) -> Option<f64> {
        let own = match task {
            Task::Coding => self.coding,
            Task::Review => self.review,
            Task::Planning => self.planning,
            Task::Analysis => self.analysis,
            Task::Debugging => self.debugging,
            Task::Documentation => self.documentation,
            Task::Default => None,
        };
        own.or(self.default).filter(|value| value.is_finite())
    }
}

/// Rows by pattern, in lower case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Table(BTreeMap<String, Row>);

impl FromIterator<(String, Row)> for Table {
    fn from_iter<T: IntoIterator<Item = (String, Row)>>(rows: T) -> Self {
        Table(rows.into_iter().map(|(pattern, row)| (pattern.to_ascii_lowercase(), row)).collect())
    }
}

impl Table {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The row of the longest pattern that matches; `model` is in lower case.
    fn row(&self, model: &str) -> Option<&Row> {
        if self.is_empty() {
            return None;
        }
        let ends: Vec<usize> = boundaries(model).chain([model.len()]).collect();
        let starts = [0].into_iter().chain(boundaries(model).map(|at| at + 1));
        starts
            .flat_map(|start| ends.iter().filter(move |&&end| end > start).map(move |&end| &model[start..end]))
            .filter_map(|part| self.0.get_key_value(part))
            .max_by_key(|(pattern, _)| pattern.len())
            .map(|(_, row)| row)
    }
}

/// Places of the characters between segments.
fn boundaries(model: &str) -> impl Iterator<Item = usize> + '_ {
    model.bytes().enumerate().filter(|(_, byte)| matches!(byte, b'-' | b'.' | b'/')).map(|(place, _)| place)
}

/// Whether `pattern` stands in the model's id as whole segments, in any case of letters.
pub fn contains(model: &str, pattern: &str) -> bool {
    let (model, pattern) = (model.as_bytes(), pattern.as_bytes());
    let edge = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b'-' | b'.' | b'/'));
    !pattern.is_empty()
        && model.windows(pattern.len()).enumerate().any(|(start, part)| {
            part.eq_ignore_ascii_case(pattern)
                && (start == 0 || edge(model.get(start - 1)))
                && edge(model.get(start + pattern.len()))
        })
}

static BUILT_IN: LazyLock<Table> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the file is compiled in and a test reads it")]
    toml::from_str(include_str!("fitness.toml")).expect("the table of fitness is valid")
});

/// The tables above the built-in one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layers {
    pub user: Table,
    /// From what the catalogue says of a model's tier.
    pub catalogue: Table,
}

const NEUTRAL: f64 = 0.5;

impl Layers {
    pub fn fitness(&self, model: &str, task: Task) -> f64 {
        let model = model.to_ascii_lowercase();
        self.above(&model, task).unwrap_or_else(|| built_in(&model, task))
    }

    fn above(&self, model: &str, task: Task) -> Option<f64> {
        [&self.user, &self.catalogue].into_iter().find_map(|table| table.row(model)?.of(task)).map(unit)
    }

    fn are_empty(&self) -> bool {
        self.user.is_empty() && self.catalogue.is_empty()
    }
}

fn built_in(model: &str, task: Task) -> f64 {
    let known = BUILT_IN.row(model).and_then(|row| row.of(task));
    known.map_or_else(|| (NEUTRAL + boosts(model, task)).min(1.0), unit)
}

/// Words in the id of a model that no table knows.
fn boosts(model: &str, task: Task) -> f64 {
    let words: &[(&str, f64)] = match task {
        Task::Coding => &[("coder", 0.15), ("code", 0.10), ("fast", 0.05)],
        Task::Planning | Task::Analysis => &[("thinking", 0.10)],
        Task::Review | Task::Debugging | Task::Documentation | Task::Default => &[],
    };
    words.iter().filter(|(word, _)| model.contains(word)).map(|(_, boost)| boost).sum()
}

const TASKS: [Task; 7] =
    [Task::Coding, Task::Review, Task::Planning, Task::Analysis, Task::Debugging, Task::Documentation, Task::Default];

/// The built-in answer for models already seen, so that ranking a large pool does not search patterns again. Bounded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cache(IndexMap<String, [f64; TASKS.len()]>);

impl Cache {
    /// Models remembered; when there are more the cache starts anew.
    const CAPACITY: usize = 16_384;

    pub fn fitness(&mut self, layers: &Layers, model: &str, task: Task) -> f64 {
        if !layers.are_empty()
            && let Some(value) = layers.above(&model.to_ascii_lowercase(), task)
        {
            return value;
        }
        if let Some(values) = self.0.get(model) {
            return values[task as usize];
        }
        let lower = model.to_ascii_lowercase();
        let values = TASKS.map(|task| built_in(&lower, task));
        if self.0.len() >= Self::CAPACITY {
            self.0.clear();
        }
        self.0.insert(model.to_owned(), values);
        values[task as usize]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(rows: &[(&str, f64)]) -> Table {
        rows.iter()
            .map(|&(pattern, coding)| (pattern.to_owned(), Row { coding: Some(coding), ..Row::default() }))
            .collect()
    }

    #[test]
    fn the_built_in_table_is_valid_and_within_bounds() {
        assert!(BUILT_IN.0.len() > 40);
        for (pattern, row) in &BUILT_IN.0 {
            assert_eq!(*pattern, pattern.to_ascii_lowercase());
            for task in TASKS {
                let value = row.of(task).unwrap_or_else(|| panic!("{pattern} says nothing of {task:?}"));
                assert!((0.0..=1.0).contains(&value), "{pattern}");
            }
        }
        for (place, task) in TASKS.into_iter().enumerate() {
            assert_eq!(task as usize, place);
        }
    }

    #[test]
    fn the_longest_pattern_of_whole_segments_wins() {
        let user = table(&[("zed-5", 0.1), ("zed-5-codex", 0.2), ("codex", 0.3), ("Claude", 0.4)]);
        let layers = Layers { user, ..Layers::default() };
        for (model, value) in [
            ("zed-5", 0.1),
            ("openai/ZED-5.1-mini", 0.1),
            ("zed-5-codex-high", 0.2),
            ("new-codex.2", 0.3),
            ("anthropic/claude", 0.4),
        ] {
            assert_eq!(layers.fitness(model, Task::Coding), value, "{model}");
        }
        assert_eq!(layers.fitness("zed-50", Task::Coding), 0.5, "not a whole segment");
    }

    #[test]
    fn layers_are_asked_from_the_user_down() {
        let layers = Layers { user: table(&[("a", 0.1)]), catalogue: table(&[("a", 0.2), ("b", 0.3)]) };
        assert_eq!(layers.fitness("a", Task::Coding), 0.1);
        assert_eq!(layers.fitness("b", Task::Coding), 0.3);
        assert_eq!(layers.fitness("b", Task::Review), 0.5, "the row says nothing of reviews");
    }

    #[test]
    fn unknown_models_are_neutral_with_boosts_for_telling_words() {
        let layers = Layers::default();
        for (model, task, value) in [
            ("unheard-of", Task::Coding, 0.5),
            ("unheard-coder", Task::Coding, 0.75),
            ("unheard-code", Task::Coding, 0.6),
            ("unheard-coder-fast", Task::Coding, 0.8),
            ("unheard-coder", Task::Review, 0.5),
            ("unheard-thinking", Task::Planning, 0.6),
            ("unheard-thinking", Task::Analysis, 0.6),
            ("unheard-thinking", Task::Coding, 0.5),
        ] {
            assert!((layers.fitness(model, task) - value).abs() < 1e-9, "{model} {task:?}");
        }
    }

    proptest! {
        #[test]
        fn the_cache_says_what_the_layers_say(models in prop::collection::vec("[a-z5/.-]{0,16}|claude-opus-4|gpt-5", 1..20)) {
            let layers = Layers { user: table(&[("claude", 0.9)]), ..Layers::default() };
            let mut cache = Cache::default();
            for model in models.iter().chain(&models) {
                for task in TASKS {
                    prop_assert_eq!(cache.fitness(&layers, model, task), layers.fitness(model, task));
                }
            }
        }

        #[test]
        fn contains_agrees_with_the_table(model in "[ab/.-]{0,8}", pattern in "[ab-]{1,4}") {
            prop_assert_eq!(contains(&model, &pattern), table(&[(&pattern, 0.1)]).row(&model).is_some());
        }
    }
}
