//! `auto/…`: names for which a combo is put together in memory (gateway specification, 3.5).
//!
//! `auto` · `auto/<variant>` · `auto/<category>[:<tier>]` · `auto/<family>`. A name says which weights count
//! ([`AutoName::profile`]) and which models take part ([`candidates`]). Nothing is stored.
//!
//! Categories and tiers fail open: when nobody is known to fit, everybody takes part, because a missing figure in the
//! catalogue must not turn a working name into a refusal. A family does not: `auto/claude` without any such model is a
//! name that leads nowhere.

use std::collections::BTreeMap;

use domain::section::FieldType;
use domain::{Availability, ConnectionId, ProviderId, choice};

use crate::Target;
use crate::score::Pack;
use crate::score::fitness::{self, Layers};
use crate::score::pool::{CostClass, Hint, blended_price, cost_class};
use crate::strategies::auto::{Profile, TierShares};
use crate::target::{Breaker, Facts};
use crate::view::Task;

choice! {
    /// A mood of `auto`.
    pub enum Variant {
        Coding = "coding",
        Fast = "fast",
        Cheap = "cheap",
        Offline = "offline",
        Smart = "smart",
        /// What served last is asked first.
        Lkgp = "lkgp",
        Chaos = "chaos",
    }
}

choice! {
    /// What the models must be good for.
    pub enum Category {
        Coding = "coding",
        Reasoning = "reasoning",
        Vision = "vision",
        Chat = "chat",
        Multimodal = "multimodal",
    }
}

choice! {
    /// What matters most within a category.
    pub enum CategoryTier {
        Fast = "fast",
        Cheap = "cheap",
        /// The same as `cheap`.
        Floor = "floor",
        Reliable = "reliable",
        Free = "free",
        Pro = "pro",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AutoName {
    Plain,
    Variant(Variant),
    Category(Category, Option<CategoryTier>),
    /// Whole segments of a model's id, in lower case: `claude`.
    Family(String),
}

const AUTO: &str = "auto";

impl AutoName {
    /// Reads a client's model name; none, where it is no name of this kind. `auto/coding` is the variant, with a tier it is
    /// the category.
    pub fn parse(name: &str) -> Option<AutoName> {
        let rest = match name.split_once('/') {
            None => return (name == AUTO).then_some(AutoName::Plain),
            Some((AUTO, rest)) if !rest.is_empty() => rest,
            Some(_) => return None,
        };
        if let Some(variant) = Variant::from_text(rest) {
            return Some(AutoName::Variant(variant));
        }
        let (word, tier) = match rest.split_once(':') {
            Some((word, tier)) => (word, Some(CategoryTier::from_text(tier)?)),
            None => (rest, None),
        };
        match (Category::from_text(word), tier) {
            (Some(category), tier) => Some(AutoName::Category(category, tier)),
            (None, None) => Some(AutoName::Family(word.to_ascii_lowercase())),
            (None, Some(_)) => None,
        }
    }

    /// Every name of this kind but the families, as they are offered to a client.
    pub fn listed() -> Vec<String> {
        let tiers = CategoryTier::CHOICES;
        let categories = Category::CHOICES.iter().flat_map(|category| {
            [(*category).to_owned()].into_iter().chain(tiers.iter().map(move |tier| format!("{category}:{tier}")))
        });
        let variants = Variant::CHOICES.iter().map(|variant| (*variant).to_owned());
        let doubled = |name: &String| Variant::from_text(name).is_none();
        [AUTO.to_owned()]
            .into_iter()
            .chain(variants.chain(categories.filter(doubled)).map(|rest| format!("{AUTO}/{rest}")))
            .collect()
    }

    /// Which weights count, and how curious the choice is.
    pub fn profile(&self) -> Profile {
        match self {
            AutoName::Plain | AutoName::Family(_) => Profile::default(),
            AutoName::Variant(variant) => variant.profile(),
            AutoName::Category(category, tier) => {
                let base = match category {
                    Category::Coding => Variant::Coding.profile(),
                    Category::Reasoning => Variant::Smart.profile(),
                    Category::Vision | Category::Chat | Category::Multimodal => Profile::default(),
                };
                tier.map_or(base, |tier| tier.profile(base))
            }
        }
    }

    /// Whether the models are narrowed down at all.
    fn narrows(&self) -> bool {
        matches!(self, AutoName::Category(..) | AutoName::Family(_))
    }
}

impl Variant {
    fn profile(self) -> Profile {
        let plain = Profile::default();
        match self {
            Variant::Coding => {
                Profile { pack: Some(Pack::QualityFirst), tier_shares: TierShares::new(0.6, 0.25, 0.15), ..plain }
            }
            Variant::Smart => Profile {
                pack: Some(Pack::QualityFirst),
                exploration_rate: 0.10,
                tier_shares: TierShares::new(0.5, 0.3, 0.2),
                ..plain
            },
            Variant::Fast => {
                Profile { pack: Some(Pack::ShipFast), tier_shares: TierShares::new(0.3, 0.5, 0.2), ..plain }
            }
            Variant::Cheap => {
                Profile { pack: Some(Pack::CostSaver), tier_shares: TierShares::new(0.2, 0.3, 0.5), ..plain }
            }
            Variant::Offline => Profile { pack: Some(Pack::OfflineFriendly), ..plain },
            Variant::Chaos => Profile { pack: Some(Pack::ChaosMode), ..plain },
            Variant::Lkgp => Profile { last_good_first: true, ..plain },
        }
    }
}

impl CategoryTier {
    /// The weights of the tier over what the category brings.
    fn profile(self, base: Profile) -> Profile {
        let hinted = |class| Hint { class: Some(class), ..base.hint };
        match self {
            CategoryTier::Fast => Variant::Fast.profile(),
            CategoryTier::Cheap | CategoryTier::Floor => {
                Profile { hint: hinted(CostClass::Cheap), ..Variant::Cheap.profile() }
            }
            CategoryTier::Reliable => Profile { pack: Some(Pack::ReliabilityFirst), ..base },
            CategoryTier::Free => Profile { hint: hinted(CostClass::Free), ..base },
            CategoryTier::Pro => Profile { hint: hinted(CostClass::Premium), ..base },
        }
    }

    /// Whether a price class belongs to the tier; `fast` and `reliable` are matters of score.
    fn takes(self, class: Option<CostClass>) -> bool {
        match self {
            CategoryTier::Fast | CategoryTier::Reliable => true,
            CategoryTier::Cheap | CategoryTier::Floor => matches!(class, Some(CostClass::Free | CostClass::Cheap)),
            CategoryTier::Free => class == Some(CostClass::Free),
            CategoryTier::Pro => class == Some(CostClass::Premium),
        }
    }
}

/// A model on a usable account.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    pub provider: ProviderId,
    pub connection: ConnectionId,
    pub model: String,
    /// The connection's default model.
    pub is_default: bool,
    /// The account has a credential of its own; providers that ask for none take part by [`WITHOUT_CREDENTIAL`] only.
    pub has_credential: bool,
    pub facts: Facts,
    pub availability: Availability,
}

/// Providers without a credential that may take part.
pub const WITHOUT_CREDENTIAL: &[&str] = &["opencode"];
/// Candidates at most.
pub const CAPACITY: usize = 200;
/// Models of an account without a default model, the first of its provider's list.
const FIRST_MODELS: usize = 10;
/// Fitness for coding from which a model belongs to the category.
const GOOD_AT_CODING: f64 = 0.6;

/// The targets of a virtual combo, in the order of the book as far as they are equal; at most [`CAPACITY`]. The book lists
/// the models of every usable account in the order of its provider's list.
///
/// Of each account its default model takes part, or without one the first ten; where the name narrows the models down,
/// these are counted among those that fit.
pub fn candidates(name: &AutoName, book: impl IntoIterator<Item = Listed>, layers: &Layers) -> Vec<Target> {
    let allowed = |listed: &Listed| listed.has_credential || WITHOUT_CREDENTIAL.contains(&listed.provider.as_str());
    let book: Vec<Listed> = book.into_iter().filter(allowed).collect();
    let fitting = match name {
        AutoName::Plain | AutoName::Variant(_) => book,
        AutoName::Family(family) => {
            book.into_iter().filter(|listed| fitness::contains(&listed.model, family)).collect()
        }
        AutoName::Category(category, tier) => {
            let fitting = by_category(book, *category, layers);
            match tier {
                Some(tier) => failing_open(fitting, |target| tier.takes(class_of(target))),
                None => fitting,
            }
        }
    };
    let mut chosen = of_each_account(fitting, name.narrows());
    // Cheap and rough: who could serve now, then every account's first model before any account's second.
    chosen.sort_by_key(|(place, listed)| {
        (listed.availability != Availability::Available, listed.facts.breaker == Breaker::Open, *place)
    });
    chosen.truncate(CAPACITY);
    chosen.into_iter().enumerate().map(|(top, (_, listed))| target(top, listed)).collect()
}

fn by_category(book: Vec<Listed>, category: Category, layers: &Layers) -> Vec<Listed> {
    failing_open(book, |listed| {
        let supports = &listed.facts.supports;
        let (vision, reasoning) = (supports.vision == Some(true), supports.reasoning == Some(true));
        match category {
            Category::Coding => layers.fitness(&listed.model, Task::Coding) >= GOOD_AT_CODING,
            Category::Reasoning => reasoning,
            Category::Vision => vision,
            Category::Multimodal => vision && (supports.audio == Some(true) || supports.documents == Some(true)),
            Category::Chat => true,
        }
    })
}

/// What fits, or everything when nothing does.
fn failing_open(book: Vec<Listed>, fits: impl Fn(&Listed) -> bool) -> Vec<Listed> {
    if !book.iter().any(&fits) {
        return book;
    }
    book.into_iter().filter(fits).collect()
}

fn class_of(listed: &Listed) -> Option<CostClass> {
    cost_class(listed.facts.tier, blended_price(&listed.facts))
}

/// The models of each account that take part, each with its place among those of its account.
fn of_each_account(book: Vec<Listed>, narrowed: bool) -> Vec<(usize, Listed)> {
    let mut places: BTreeMap<ConnectionId, (bool, usize)> = BTreeMap::new();
    for listed in &book {
        let (has_default, _) = places.entry(listed.connection.clone()).or_default();
        *has_default |= listed.is_default;
    }
    let mut chosen = Vec::new();
    for listed in book {
        let Some((has_default, place)) = places.get_mut(&listed.connection) else {
            continue;
        };
        let takes_part = match (*has_default, narrowed) {
            (true, false) => listed.is_default,
            (true, true) | (false, _) => listed.is_default || *place < FIRST_MODELS,
        };
        if takes_part {
            let own_place = if listed.is_default { 0 } else { *place + usize::from(*has_default) };
            *place += usize::from(!listed.is_default);
            chosen.push((own_place, listed));
        }
    }
    chosen
}

fn target(top: usize, listed: Listed) -> Target {
    Target {
        execution_key: format!("{AUTO}>{}/{}@{}", listed.provider, listed.model, listed.connection),
        top,
        provider: listed.provider,
        model: listed.model,
        connection: Some(listed.connection),
        allowed_connections: Vec::new(),
        weight: 0,
        label: None,
        prompt: None,
        tags: Vec::new(),
        fallback_only_on_quota_exhaustion: false,
        facts: listed.facts,
        availability: listed.availability,
    }
}

#[cfg(test)]
mod tests {
    use domain::{Exclusion, Mechanism};

    use super::*;
    use crate::target::{Supports, Tier};

    fn listed(provider: &str, connection: &str, model: &str) -> Listed {
        Listed {
            provider: provider.into(),
            connection: connection.into(),
            model: model.to_owned(),
            is_default: false,
            has_credential: true,
            facts: Facts::default(),
            availability: Availability::Available,
        }
    }

    fn chosen(name: &str, book: Vec<Listed>) -> Vec<String> {
        let name = AutoName::parse(name).expect("a name of this kind");
        candidates(&name, book, &Layers::default()).into_iter().map(|target| target.model).collect()
    }

    #[test]
    fn names_are_read_and_what_is_none_is_not() {
        let family = |word: &str| Some(AutoName::Family(word.to_owned()));
        for (name, read) in [
            ("auto", Some(AutoName::Plain)),
            ("auto/fast", Some(AutoName::Variant(Variant::Fast))),
            ("auto/coding", Some(AutoName::Variant(Variant::Coding))),
            ("auto/coding:fast", Some(AutoName::Category(Category::Coding, Some(CategoryTier::Fast)))),
            ("auto/vision", Some(AutoName::Category(Category::Vision, None))),
            ("auto/chat:floor", Some(AutoName::Category(Category::Chat, Some(CategoryTier::Floor)))),
            ("auto/Claude", family("claude")),
            ("auto/chat:unheard", None),
            ("auto/claude:fast", None),
            ("auto/", None),
            ("automatic", None),
            ("openai/auto", None),
        ] {
            assert_eq!(AutoName::parse(name), read, "{name}");
        }
    }

    #[test]
    fn every_listed_name_is_one_and_none_is_listed_twice() {
        let mut names = AutoName::listed();
        assert_eq!(names.len(), 1 + 7 + 4 + 5 * 6);
        assert!(names.iter().all(|name| AutoName::parse(name).is_some()));
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 42);
    }

    #[test]
    fn variants_bring_the_packs_and_shares_of_the_table() {
        for (name, pack, exploration, shares) in [
            ("auto", None, 0.05, (0.45, 0.35, 0.20)),
            ("auto/coding", Some(Pack::QualityFirst), 0.05, (0.6, 0.25, 0.15)),
            ("auto/smart", Some(Pack::QualityFirst), 0.10, (0.5, 0.3, 0.2)),
            ("auto/fast", Some(Pack::ShipFast), 0.05, (0.3, 0.5, 0.2)),
            ("auto/cheap", Some(Pack::CostSaver), 0.05, (0.2, 0.3, 0.5)),
            ("auto/offline", Some(Pack::OfflineFriendly), 0.05, (0.45, 0.35, 0.20)),
            ("auto/chaos", Some(Pack::ChaosMode), 0.05, (0.45, 0.35, 0.20)),
            ("auto/lkgp", None, 0.05, (0.45, 0.35, 0.20)),
            ("auto/chat:reliable", Some(Pack::ReliabilityFirst), 0.05, (0.45, 0.35, 0.20)),
            ("auto/coding:floor", Some(Pack::CostSaver), 0.05, (0.2, 0.3, 0.5)),
        ] {
            let profile = AutoName::parse(name).expect(name).profile();
            assert_eq!(profile.pack, pack, "{name}");
            assert_eq!(profile.exploration_rate, exploration, "{name}");
            assert_eq!(profile.tier_shares, TierShares::new(shares.0, shares.1, shares.2), "{name}");
            assert_eq!(profile.last_good_first, name == "auto/lkgp");
        }
    }

    #[test]
    fn an_account_brings_its_default_model_or_else_the_first_ten() {
        let mut book: Vec<Listed> = (0..15).map(|n| listed("p", "c1", &format!("m{n}"))).collect();
        assert_eq!(chosen("auto", book.clone()).len(), FIRST_MODELS);
        book[12].is_default = true;
        assert_eq!(chosen("auto", book.clone()), ["m12"]);
        assert_eq!(chosen("auto/chat", book)[..2], ["m12", "m0"], "a category looks beyond the default");
    }

    #[test]
    fn every_accounts_first_model_stands_before_any_second_and_the_unavailable_last() {
        let mut book = vec![listed("p", "c1", "a"), listed("p", "c1", "b"), listed("q", "c2", "c")];
        assert_eq!(chosen("auto", book.clone()), ["a", "c", "b"]);
        book[0].availability = Availability::Excluded(Exclusion::lasting(Mechanism::CircuitBreaker, "circuit_open"));
        assert_eq!(chosen("auto", book), ["c", "b", "a"]);
    }

    #[test]
    fn families_are_whole_segments_and_do_not_fail_open() {
        let book =
            vec![listed("p", "c1", "anthropic/claude-x"), listed("p", "c1", "claudette"), listed("p", "c1", "gpt-5")];
        assert_eq!(chosen("auto/claude", book.clone()), ["anthropic/claude-x"]);
        assert!(chosen("auto/unheard", book).is_empty());
    }

    #[test]
    fn categories_and_tiers_fail_open() {
        let mut book = vec![listed("p", "c1", "claude-opus-4"), listed("p", "c2", "phi-4"), listed("p", "c3", "gpt-5")];
        assert_eq!(
            chosen("auto/coding:pro", book.clone()),
            ["claude-opus-4", "gpt-5"],
            "nobody is known to be premium"
        );
        assert_eq!(chosen("auto/vision", book.clone()).len(), 3);
        book[1].facts.supports = Supports { vision: Some(true), ..Supports::default() };
        book[2].facts.tier = Tier::Free;
        assert_eq!(chosen("auto/vision", book.clone()), ["phi-4"]);
        assert_eq!(chosen("auto/multimodal", book.clone()).len(), 3);
        assert_eq!(chosen("auto/chat:free", book), ["gpt-5"]);
    }

    #[test]
    fn accounts_without_a_credential_take_part_by_the_list_only() {
        let book = ["opencode", "other"].map(|provider| Listed { has_credential: false, ..listed(provider, "c", "m") });
        let name = AutoName::Plain;
        let targets = candidates(&name, book, &Layers::default());
        assert_eq!(targets.len(), 1);
        assert_eq!(targets[0].execution_key, "auto>opencode/m@c");
    }

    #[test]
    fn there_are_at_most_two_hundred() {
        let book = (0..500).map(|n| listed("p", &format!("c{n}"), "m"));
        assert_eq!(candidates(&AutoName::Plain, book, &Layers::default()).len(), CAPACITY);
    }
}
