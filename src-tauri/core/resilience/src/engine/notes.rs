//! Facts that are no outcome: what replies announced, what refusals taught.

use std::sync::Arc;

use domain::{ConnectionId, ProviderId, Quota, Timestamp};
use http::HeaderMap;

use super::{Effects, Engine};
use crate::event::Event;
use crate::limit_headers;
use crate::permit::Permit;
use crate::request_queue::QueueKey;
use crate::request_queue::learned::LearnedLimit;
use crate::settings::Settings;
use crate::stored::{Row, StoredQuota};
use crate::waiting_room::Barrier;

impl Engine {
    /// What the headers of a reply announced, good or bad: its quota and its pace. Called before the attempt is settled.
    pub fn observe(&mut self, permit: &Permit, headers: &HeaderMap, settings: &Settings, now: Timestamp) -> Effects {
        let mut effects = self.pending();
        let observed = limit_headers::read(headers, now);
        if let Some(quota) = observed.quota {
            self.absorb(&permit.connection, quota, &mut effects);
        }
        if observed.announced.says_nothing() {
            return effects;
        }
        effects.learned = true;
        let key = QueueKey::of(&permit.connection, &permit.model, &permit.nature);
        self.queues.on_announced(&key, &observed.announced, now);
        self.serve(vec![Barrier::Queue(key)], settings, now, &mut effects);
        effects
    }

    /// What somebody said about an account's quota; older news than what is known changes nothing.
    pub fn note_quota(&mut self, connection: &ConnectionId, quota: Quota) -> Effects {
        let mut effects = self.pending();
        self.absorb(connection, quota, &mut effects);
        effects
    }

    /// The account is another one: what was left of it says nothing any more.
    pub fn forget_quota(&mut self, connection: &ConnectionId) {
        self.quotas.remove(connection);
    }

    /// Only what a person would see is told and stored: headers come with every reply.
    fn absorb(&mut self, connection: &ConnectionId, news: Quota, effects: &mut Effects) {
        let known = self.quotas.entry(connection.clone()).or_default();
        let before = Arc::clone(known);
        Arc::make_mut(known).absorb(news);
        if known.looks_like(&before) {
            return;
        }
        effects.events.push(Event::QuotaChanged { connection: connection.clone() });
        effects.rows.push(Row::Quota(StoredQuota { connection: connection.clone(), quota: Quota::clone(known) }));
    }

    /// What is known about an account's quota; none, nothing. Shared by everyone who holds it: a plan weighs one account for
    /// many models.
    pub fn quota(&self, connection: &ConnectionId) -> Option<&Arc<Quota>> {
        self.quotas.get(connection)
    }

    /// A provider refused a request for its tools and named its limit ([`crate::tool_limit::read`]). Says whether that is
    /// news.
    pub fn note_tool_limit(&mut self, provider: &ProviderId, limit: u32, now: Timestamp) -> bool {
        self.tool_limits.on_refusal(provider, limit, now)
    }

    /// The most tools a provider takes: as it named within the last day, or as the catalogue states.
    pub fn tool_limit(&self, provider: &ProviderId, stated: Option<u32>, now: Timestamp) -> Option<u32> {
        self.tool_limits.limit(provider, stated, now)
    }

    /// Every pace that upstreams announced, for the store; at most once a minute (resilience specification, 5.5).
    pub fn learned_limits(&self, now: Timestamp) -> Vec<LearnedLimit> {
        self.queues.learned(now)
    }

    /// Takes over what was stored of them.
    pub fn restore_learned(&mut self, stored: Vec<LearnedLimit>, now: Timestamp) {
        self.queues.restore(stored, now);
    }
}
