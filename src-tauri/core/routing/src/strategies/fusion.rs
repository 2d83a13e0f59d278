//! Fusion: a panel is asked in parallel, a judge writes the answer from what it said.
//!
//! [`judge`] says who writes: whom the combo names, else the first member that has answered, for nobody is asked to judge who
//! could not even answer. [`Quorum`] is the panel's clock, without one of its own: it is told who answered and who
//! failed, and says whether to wait, to let the judge write, to pass the only answer on, or to give up. Once `minPanel` have
//! answered, stragglers get `stragglerGraceMs` more; altogether the panel has `panelHardTimeoutMs` (gateway specification,
//! 3.4).

use std::borrow::Borrow;
use std::collections::BTreeSet;

use domain::Timestamp;

use crate::combo::config;
use crate::target::Target;
use crate::view::View;

/// Most members of a panel: all are asked, and paid, at once, the judge knows their answers by the letters A to Z, and a
/// request has [`MOST_ATTEMPTS`](crate::decision::MOST_ATTEMPTS) altogether, of which the judge needs one.
pub const MOST_MEMBERS: usize = 26;

/// Who writes the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judge {
    /// Nobody was chosen: the first member, in the order of the list, that has answered.
    Member,
    /// One of the targets, by index.
    Target(usize),
    /// `provider/model`, as configured: it is not among the targets.
    Named(String),
}

/// The judge of a panel.
pub fn judge(targets: &[impl Borrow<Target>], view: &View<'_>) -> Judge {
    let Some(named) = view.config.fusion.judge_model.as_deref().filter(|name| !name.is_empty()) else {
        return Judge::Member;
    };
    let is = |target: &Target| {
        named
            .split_once('/')
            .is_some_and(|(provider, model)| target.provider.as_str() == provider && target.model == model)
    };
    targets.iter().position(|target| is(target.borrow())).map_or_else(|| Judge::Named(named.to_owned()), Judge::Target)
}

/// Whether a request is for one model alone: a panel has no tools and cannot answer calls.
pub fn bypasses(view: &View<'_>) -> bool {
    view.request.needs.tools || view.request.tool_count > 0 || view.request.tool_results
}

/// Who has answered, who has failed, and since when.
#[derive(Clone, Debug, PartialEq)]
pub struct Quorum {
    members: usize,
    enough: usize,
    judge_chosen: bool,
    began: Timestamp,
    /// When enough had answered.
    reached: Option<Timestamp>,
    answered: BTreeSet<usize>,
    failed: BTreeSet<usize>,
    config: config::Fusion,
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing yet; ask again when somebody has finished, or at `until`.
    Wait { until: Timestamp },
    /// The judge writes from these members' answers.
    Judge { members: Vec<usize> },
    /// The one answer there is goes to the client.
    Answer { member: usize },
    /// Nobody answered.
    Fail,
}

impl Quorum {
    /// A panel of so many members, asked at `now`. `judge_chosen`: even a single answer goes through the judge.
    pub fn new(members: usize, judge_chosen: bool, config: &config::Fusion, now: Timestamp) -> Self {
        Quorum {
            members,
            enough: (config.min_panel as usize).clamp(1, members.max(1)),
            judge_chosen,
            began: now,
            reached: None,
            answered: BTreeSet::new(),
            failed: BTreeSet::new(),
            config: config.clone(),
        }
    }

    /// A member answered. What comes twice counts once.
    pub fn on_answer(&mut self, member: usize, now: Timestamp) {
        if member < self.members && !self.failed.contains(&member) {
            self.answered.insert(member);
        }
        if self.answered.len() >= self.enough {
            self.reached.get_or_insert(now);
        }
    }

    /// A member failed.
    pub fn on_failure(&mut self, member: usize) {
        if member < self.members && !self.answered.contains(&member) {
            self.failed.insert(member);
        }
    }

    /// When the waiting ends at the latest.
    pub fn deadline(&self) -> Timestamp {
        let hard = self.began + self.config.panel_hard_timeout;
        self.reached.map_or(hard, |reached| hard.min(reached + self.config.straggler_grace))
    }

    pub fn verdict(&self, now: Timestamp) -> Verdict {
        let finished = self.answered.len() + self.failed.len() >= self.members;
        if !finished && now < self.deadline() {
            return Verdict::Wait { until: self.deadline() };
        }
        let members: Vec<usize> = self.answered.iter().copied().collect();
        match members[..] {
            [] => Verdict::Fail,
            [member] if !self.judge_chosen => Verdict::Answer { member },
            [..] => Verdict::Judge { members },
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::Millis;

    use super::super::fixtures::{NOW, World, targets};
    use super::*;

    fn panel(members: usize, judge_chosen: bool) -> Quorum {
        Quorum::new(members, judge_chosen, &config::Fusion::default(), NOW)
    }

    fn at(seconds: u64) -> Timestamp {
        NOW + Millis::seconds(seconds)
    }

    #[test]
    fn enough_answers_give_the_rest_their_grace() {
        let mut panel = panel(3, false);
        assert_eq!(panel.verdict(NOW), Verdict::Wait { until: at(90) });
        panel.on_answer(2, at(1));
        assert_eq!(panel.verdict(at(1)), Verdict::Wait { until: at(90) });
        panel.on_answer(0, at(5));
        assert_eq!(panel.verdict(at(12)), Verdict::Wait { until: at(13) });
        assert_eq!(panel.verdict(at(13)), Verdict::Judge { members: vec![0, 2] });
        panel.on_answer(1, at(13));
        assert_eq!(panel.verdict(at(13)), Verdict::Judge { members: vec![0, 1, 2] });
    }

    #[test]
    fn nobody_waits_for_those_who_are_done() {
        let mut panel = panel(3, false);
        panel.on_failure(0);
        panel.on_failure(1);
        assert_eq!(panel.verdict(at(1)), Verdict::Wait { until: at(90) });
        panel.on_answer(2, at(2));
        assert_eq!(panel.verdict(at(2)), Verdict::Answer { member: 2 });
    }

    #[test]
    fn the_hard_limit_ends_the_panel_with_what_it_has() {
        let mut late = panel(3, false);
        late.on_answer(0, at(88));
        late.on_answer(1, at(89));
        assert_eq!(late.verdict(at(89)), Verdict::Wait { until: at(90) }, "the grace ends with the panel");
        assert_eq!(late.verdict(at(90)), Verdict::Judge { members: vec![0, 1] });
        assert_eq!(panel(3, false).verdict(at(90)), Verdict::Fail);
    }

    #[test]
    fn a_chosen_judge_reads_even_one_answer() {
        let mut panel = panel(2, true);
        panel.on_answer(1, at(1));
        panel.on_failure(0);
        assert_eq!(panel.verdict(at(1)), Verdict::Judge { members: vec![1] });
    }

    #[test]
    fn a_small_panel_is_enough_for_itself_and_twice_counts_once() {
        let mut one = panel(1, false);
        one.on_answer(0, at(1));
        one.on_answer(0, at(2));
        one.on_failure(0);
        one.on_answer(7, at(2));
        assert_eq!(one.verdict(at(2)), Verdict::Answer { member: 0 });
        assert_eq!(panel(0, false).verdict(NOW), Verdict::Fail);
    }

    #[test]
    fn the_judge_is_a_member_unless_somebody_chose() {
        let (mut world, targets) = (World::default(), targets(3));
        assert_eq!(judge(&targets, &world.view()), Judge::Member);
        world.config.fusion.judge_model = Some("p2/m2".to_owned());
        assert_eq!(judge(&targets, &world.view()), Judge::Target(2));
        world.config.fusion.judge_model = Some("x/y".to_owned());
        assert_eq!(judge(&targets, &world.view()), Judge::Named("x/y".to_owned()));
    }
}
