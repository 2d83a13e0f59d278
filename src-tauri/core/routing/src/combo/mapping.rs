//! Patterns of model names that lead to a combo (gateway specification, 1.4 rule 3).

use domain::Timestamp;
use domain::model_name::glob_matches;

/// Names that match the pattern mean the combo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub id: String,
    /// `*` stands for any run of characters, slashes included.
    pub pattern: String,
    pub combo_id: String,
    /// The highest is asked first, as the original has it; of equals, the oldest.
    pub priority: u32,
    pub enabled: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Mapping {
    /// Puts mappings into the order in which they are asked.
    pub fn sort(mappings: &mut [Mapping]) {
        mappings.sort_by(|a, b| {
            b.priority.cmp(&a.priority).then(a.created_at.cmp(&b.created_at)).then_with(|| a.id.cmp(&b.id))
        });
    }

    /// Whether a model name of that spelling goes to the combo.
    pub fn matches(&self, name: &str) -> bool {
        self.enabled && glob_matches(&self.pattern, name)
    }
}

#[cfg(test)]
pub(crate) mod fixtures {
    use super::*;

    pub(crate) fn mapping(pattern: &str, combo: &str, priority: u32) -> Mapping {
        Mapping {
            id: format!("mapping-{pattern}"),
            pattern: pattern.to_owned(),
            combo_id: format!("id-{combo}"),
            priority,
            enabled: true,
            created_at: Timestamp::ZERO,
            updated_at: Timestamp::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fixtures::mapping;
    use super::*;

    #[test]
    fn the_highest_priority_is_asked_first_and_of_equals_the_oldest() {
        let young = Mapping { created_at: Timestamp::from_millis(5), ..mapping("young", "c", 7) };
        let mut mappings = [young, mapping("low", "c", 1), mapping("old", "c", 7), mapping("high", "c", 100)];
        Mapping::sort(&mut mappings);
        assert_eq!(mappings.map(|mapping| mapping.pattern), ["high", "old", "young", "low"]);
    }

    #[test]
    fn a_mapping_that_is_switched_off_matches_nothing() {
        let on = mapping("claude-*", "c", 1);
        assert!(on.matches("claude-opus") && !on.matches("gpt"));
        assert!(!Mapping { enabled: false, ..on }.matches("claude-opus"));
    }
}
