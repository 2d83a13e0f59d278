//! What of a combo cannot work is refused when it is saved, with the field, the reason and the remedy (gateway
//! specification, 3.1).
//!
//! Two faults show only beside the other combos: a name that is taken, and a ring of references. The ring is spelt out,
//! since whoever closes it usually looks at one of its links only.

use std::collections::BTreeSet;

use domain::section::FieldError;
use domain::wire::fault;

use super::input::located;
use super::{Combo, CompositeTiers, Config, Step, StepKind};

const LONGEST_NAME: usize = 100;
const HEAVIEST: u32 = 100;

impl Combo {
    /// Everything that is wrong with the combo as it would stand among `others`; an earlier version of itself among them,
    /// known by its id, is passed over.
    pub fn validate(&self, others: &[Combo]) -> Result<(), Vec<FieldError>> {
        let others: Vec<&Combo> = others.iter().filter(|other| other.id != self.id).collect();
        let mut errors = Vec::new();
        errors.extend(self.wrong_name(&others));
        errors.extend(self.wrong_steps(&others));
        errors.extend(self.composite_tiers.as_ref().and_then(|tiers| wrong_tiers(tiers, &self.models)));
        if let Err(wrong) = Config::validate(&self.config) {
            errors.extend(wrong.into_iter().map(|error| {
                let field = format!("config.{}", error.field);
                error.at(field)
            }));
        }
        errors.extend(self.wrong_nesting(&others));
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn wrong_name(&self, others: &[&Combo]) -> Option<FieldError> {
        let length = self.name.chars().count();
        let wrong = |message: &str| FieldError::new("name", message);
        if self.name.trim().is_empty() {
            Some(wrong("must not be empty").coded::<String>(fault::EMPTY, &[]))
        } else if length > LONGEST_NAME {
            let message = format!("must have at most {LONGEST_NAME} characters, has {length}");
            Some(wrong(&message).coded(fault::TOO_LONG, &[LONGEST_NAME]))
        } else if self.name.chars().any(char::is_control) {
            Some(wrong("must not contain control characters"))
        } else if others.iter().any(|other| other.name == self.name) {
            let taken = wrong("another combo has this name: choose a different one");
            Some(taken.coded::<String>(fault::TAKEN, &[]))
        } else {
            None
        }
    }

    fn wrong_steps(&self, others: &[&Combo]) -> Vec<FieldError> {
        let mut seen = BTreeSet::new();
        let mut errors = Vec::new();
        for (index, step) in self.models.iter().enumerate() {
            if !seen.insert(step.id.as_str()) {
                let message = "another step has this id: leave it out for a new one";
                errors.push(located(index, FieldError::new("id", message)));
            }
            errors.extend(wrong_step(step, self, others).map(|error| located(index, error)));
        }
        errors
    }

    /// Rings and towers of references; of towers only when there is no ring, which has no top.
    fn wrong_nesting(&self, others: &[&Combo]) -> Option<FieldError> {
        let find = |name: &str| {
            if name == self.name { Some(self) } else { others.iter().copied().find(|other| other.name == name) }
        };
        let mut path = vec![self.name.as_str()];
        if let Some(ring) = ring(self, &find, &mut path, &mut BTreeSet::new()) {
            let message =
                format!("the combos lead to each other: {}; remove one of these references", ring.join(" → "));
            return Some(FieldError::new("models", message).coded(fault::CYCLE, &[ring.join(" → ")]));
        }
        let allowed = Config::cascade(&[&self.config]).0.max_combo_depth as usize;
        let tower = deepest(self, &find);
        (tower.len() > allowed + 1).then(|| {
            let message = format!(
                "{} combos stand inside each other, at most {allowed} may: {}; raise maxComboDepth (at most 10) or flatten one",
                tower.len() - 1,
                tower.join(" → ")
            );
            FieldError::new("models", message).coded(fault::TOO_DEEP, &[tower.len() - 1, allowed])
        })
    }
}

fn wrong_step(step: &Step, combo: &Combo, others: &[&Combo]) -> Option<FieldError> {
    if step.weight > HEAVIEST {
        let wrong = FieldError::new("weight", "expected a whole number from 0 to 100");
        return Some(wrong.coded(fault::OUT_OF_RANGE, &[0, HEAVIEST]));
    }
    if step.id.is_empty() || step.id.contains(['>', '@']) {
        return Some(FieldError::new("id", "must not be empty nor contain > or @: leave it out for a new one"));
    }
    match &step.kind {
        StepKind::ComboRef { combo_name } => {
            let exists = *combo_name == combo.name || others.iter().any(|other| other.name == *combo_name);
            let message = "no combo has this name: create it first, or choose an existing one";
            (!exists).then(|| FieldError::new("comboName", message).coded(fault::NOT_FOUND, &[combo_name]))
        }
        StepKind::Model { model, provider_id, connection_id, allowed_connection_ids, .. } => {
            let named = model.split_once('/').is_some_and(|(provider, rest)| !provider.is_empty() && !rest.is_empty());
            if !named || provider_id.as_str().is_empty() {
                let wrong = FieldError::new("model", "expected \"provider/model\"");
                return Some(wrong.coded::<String>(fault::MODEL_FORM, &[]));
            }
            let pinned = connection_id.as_ref()?;
            let contradicts = !allowed_connection_ids.is_empty() && !allowed_connection_ids.contains(pinned);
            let message = "the pinned connection is not among the allowed ones: add it there or remove the pin";
            contradicts.then(|| FieldError::new("connectionId", message))
        }
        StepKind::ProviderWildcard { provider_id, model_pattern } => {
            if provider_id.as_str().is_empty() {
                return Some(FieldError::new("providerId", "must not be empty").coded::<String>(fault::EMPTY, &[]));
            }
            model_pattern
                .is_empty()
                .then(|| FieldError::new("modelPattern", "must not be empty: * stands for every model"))
        }
    }
}

fn wrong_tiers(tiers: &CompositeTiers, steps: &[Step]) -> Option<FieldError> {
    if !tiers.tiers.contains_key(&tiers.default_tier) {
        return Some(FieldError::new("compositeTiers.defaultTier", "no tier has this name: choose one of the tiers"));
    }
    for (name, tier) in &tiers.tiers {
        if !steps.iter().any(|step| step.id == tier.step_id) {
            let field = format!("compositeTiers.tiers.{name}.stepId");
            return Some(FieldError::new(field, "no step has this id: choose one of the combo's steps"));
        }
        let mut seen = BTreeSet::from([name.as_str()]);
        let mut next = tier.fallback_tier.as_deref();
        while let Some(fallback) = next {
            let field = || format!("compositeTiers.tiers.{name}.fallbackTier");
            let Some(tier) = tiers.tiers.get(fallback) else {
                return Some(FieldError::new(field(), "no tier has this name: choose one of the tiers"));
            };
            if !seen.insert(fallback) {
                return Some(FieldError::new(field(), "the tiers fall back to each other: end the chain somewhere"));
            }
            next = tier.fallback_tier.as_deref();
        }
    }
    None
}

/// The first ring below `combo`, named from its beginning to its return. `clear` holds what was found to end.
fn ring<'c>(
    combo: &'c Combo,
    find: &impl Fn(&str) -> Option<&'c Combo>,
    path: &mut Vec<&'c str>,
    clear: &mut BTreeSet<&'c str>,
) -> Option<Vec<&'c str>> {
    for name in combo.references() {
        if let Some(start) = path.iter().position(|passed| *passed == name) {
            let mut ring = path.split_off(start);
            ring.push(name);
            return Some(ring);
        }
        let Some(child) = find(name).filter(|_| !clear.contains(name)) else { continue };
        path.push(name);
        if let Some(found) = ring(child, find, path, clear) {
            return Some(found);
        }
        path.pop();
    }
    clear.insert(combo.name.as_str());
    None
}

/// The longest path of references, ends included. Only asked where there is no ring.
fn deepest<'c>(combo: &'c Combo, find: &impl Fn(&str) -> Option<&'c Combo>) -> Vec<&'c str> {
    // Combos below one another, each visited once: its tower does not depend on how it was reached.
    fn tower<'c>(
        combo: &'c Combo,
        find: &impl Fn(&str) -> Option<&'c Combo>,
        known: &mut std::collections::BTreeMap<&'c str, Vec<&'c str>>,
    ) -> Vec<&'c str> {
        if let Some(tower) = known.get(combo.name.as_str()) {
            return tower.clone();
        }
        let below = combo.references().filter_map(find).map(|child| tower(child, find, known));
        let longest = below.fold(Vec::new(), |best, next| if next.len() > best.len() { next } else { best });
        let mut whole = vec![combo.name.as_str()];
        whole.extend(longest);
        known.insert(combo.name.as_str(), whole.clone());
        whole
    }
    tower(combo, find, &mut std::collections::BTreeMap::new())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::fixtures::combo;
    use super::super::{Strategy, Tier};
    use super::*;

    fn errors(combo: &Combo, others: &[Combo]) -> Vec<String> {
        combo.validate(others).err().unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    fn plain(name: &str, steps: &[&str]) -> Combo {
        combo(name, Strategy::Priority, steps)
    }

    #[test]
    fn a_name_is_short_printable_and_free() {
        let others = [Combo { id: "another".to_owned(), ..plain("taken", &[]) }];
        for (name, expected) in [
            ("", "name: must not be empty"),
            ("a\nb", "name: must not contain control characters"),
            ("taken", "name: another combo has this name: choose a different one"),
        ] {
            assert_eq!(errors(&plain(name, &[]), &others), [expected]);
        }
        let long = plain(&"ü".repeat(101), &[]);
        assert_eq!(errors(&long, &[]), ["name: must have at most 100 characters, has 101"]);
        assert_eq!(errors(&plain(&"ü".repeat(100), &["openai/gpt-4o", "a/b/c"]), &others), [""; 0]);
        assert_eq!(errors(&plain("taken", &[]), &[plain("taken", &[])]), [""; 0], "its own earlier version");
    }

    #[test]
    fn a_combo_that_leads_to_itself_through_two_others_is_refused_with_the_path() {
        let others = [plain("b", &["x/y", "@c"]), plain("c", &["@a", "@b2"]), plain("b2", &[])];
        let found = errors(&plain("a", &["@b"]), &others);
        assert_eq!(found, ["models: the combos lead to each other: a → b → c → a; remove one of these references"]);
        assert_eq!(errors(&plain("a", &["@a"]), &[]).len(), 1, "directly");
        let mut off = plain("a", &["@b"]);
        off.models[0].enabled = false;
        assert_eq!(errors(&off, &others), [""; 0], "a switched-off step leads nowhere");
    }

    #[test]
    fn towers_end_at_the_depth_the_combo_allows() {
        let chain = |from: usize, to: usize| -> Vec<Combo> {
            let link = |n: usize| {
                if n < to { plain(&format!("c{n}"), &[&format!("@c{}", n + 1)]) } else { plain(&format!("c{n}"), &[]) }
            };
            (from..=to).map(link).collect()
        };
        let top = plain("c0", &["@c1"]);
        assert_eq!(errors(&top, &chain(1, 3)), [""; 0]);
        let found = errors(&top, &chain(1, 4));
        assert!(found[0].starts_with("models: 4 combos stand inside each other, at most 3 may: c0 → c1"), "{found:?}");
        let mut deep = top;
        deep.config.insert("maxComboDepth".to_owned(), json!(10));
        assert_eq!(errors(&deep, &chain(1, 10)), [""; 0]);
        assert_eq!(errors(&deep, &chain(1, 11)).len(), 1);
    }

    #[test]
    fn many_ways_to_the_same_combos_do_not_cost_many_walks() {
        let layer = |n: usize| plain(&format!("l{n}"), &[&format!("@l{}", n + 1), &format!("@l{}", n + 1)]);
        let mut others: Vec<Combo> = (1..60).map(layer).collect();
        others.push(plain("l60", &[]));
        assert_eq!(errors(&layer(0), &others).len(), 1);
    }

    #[test]
    fn steps_tiers_and_numbers_are_named_by_their_place() {
        let mut wrong = plain("a", &["openai/gpt", "@gone", "groq/x-*"]);
        wrong.models[0].weight = 101;
        wrong.models[2].id = wrong.models[0].id.clone();
        wrong.config.insert("queueDepth".to_owned(), json!(101));
        let tier =
            |step: &str, next: Option<&str>| Tier { step_id: step.to_owned(), fallback_tier: next.map(str::to_owned) };
        wrong.composite_tiers =
            Some(CompositeTiers { default_tier: "t".to_owned(), tiers: [("t".to_owned(), tier("zz", None))].into() });
        assert_eq!(
            errors(&wrong, &[]),
            [
                "models[0].weight: expected a whole number from 0 to 100",
                "models[1].comboName: no combo has this name: create it first, or choose an existing one",
                "models[2].id: another step has this id: leave it out for a new one",
                "compositeTiers.tiers.t.stepId: no step has this id: choose one of the combo's steps",
                "config.queueDepth: expected a whole number from 0 to 100",
            ]
        );
        let mut ring = plain("a", &["openai/gpt"]);
        for (default, tiers, field) in [
            ("x", vec![("t", tier("a0", None))], "compositeTiers.defaultTier"),
            ("t", vec![("t", tier("a0", Some("u")))], "compositeTiers.tiers.t.fallbackTier"),
            (
                "t",
                vec![("t", tier("a0", Some("u"))), ("u", tier("a0", Some("t")))],
                "compositeTiers.tiers.t.fallbackTier",
            ),
        ] {
            let tiers = tiers.into_iter().map(|(name, tier)| (name.to_owned(), tier)).collect();
            ring.composite_tiers = Some(CompositeTiers { default_tier: default.to_owned(), tiers });
            assert_eq!(ring.validate(&[]).expect_err(field)[0].field, field);
        }
    }
}
