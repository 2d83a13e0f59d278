//! Egress buckets (resilience specification, 20).
//!
//! Scope: one outgoing IP address. Question: *which accounts share an exhausted quota?* Some providers count a free quota
//! per address and not per account, so one refused account speaks for all that leave through the same address. This file
//! only knows who was last seen where; what follows from it is the Engine's.
//!
//! An address is evidence for a day. Where it is not known, an account speaks for itself only, and nothing lasting is ever
//! concluded from an address.

use std::collections::{BTreeMap, BTreeSet};

use domain::{ConnectionId, Millis, ProviderId, Timestamp};

/// How long a sighting is believed.
const MEMORY: Millis = Millis::hours(24);
/// How much older a sighting may become before the same one is news again: traffic repeats itself every second, and a day
/// is not measured in seconds.
const NEWS: Millis = Millis::minutes(5);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EgressBuckets {
    /// Which providers draw on one bucket.
    members: BTreeMap<String, BTreeSet<ProviderId>>,
    seen: BTreeMap<ConnectionId, Sighting>,
    /// The same sightings by address and provider, so that finding siblings passes nobody else.
    by_address: BTreeMap<(String, ProviderId), BTreeSet<ConnectionId>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Sighting {
    provider: ProviderId,
    ip: String,
    at: Timestamp,
}

impl EgressBuckets {
    /// A provider draws on a bucket.
    pub fn join(&mut self, bucket: &str, provider: &ProviderId) {
        match self.members.get_mut(bucket) {
            Some(providers) if providers.contains(provider) => {}
            Some(providers) => {
                providers.insert(provider.clone());
            }
            None => {
                self.members.insert(bucket.to_owned(), BTreeSet::from([provider.clone()]));
            }
        }
    }

    /// An account was seen leaving through an address. The latest sighting wins. Whether that is worth writing down.
    pub fn note(&mut self, provider: &ProviderId, connection: &ConnectionId, ip: &str, at: Timestamp) -> bool {
        if let Some(sighting) = self.seen.get_mut(connection)
            && sighting.ip == ip
            && sighting.provider == *provider
        {
            let is_news = at >= sighting.at + NEWS;
            if is_news {
                sighting.at = at;
            }
            return is_news;
        }
        if self.seen.get(connection).is_some_and(|sighting| sighting.at > at) {
            return false;
        }
        self.forget(connection);
        self.by_address.entry((ip.to_owned(), provider.clone())).or_default().insert(connection.clone());
        let sighting = Sighting { provider: provider.clone(), ip: ip.to_owned(), at };
        self.seen.insert(connection.clone(), sighting);
        true
    }

    /// The other accounts of the bucket that were last seen behind the same address.
    pub fn siblings(&self, bucket: &str, connection: &ConnectionId, now: Timestamp) -> Vec<ConnectionId> {
        let fresh = |id: &ConnectionId| self.seen.get(id).filter(|sighting| now < sighting.at + MEMORY);
        let Some(own) = fresh(connection) else { return Vec::new() };
        let providers = self.members.get(bucket).into_iter().flatten();
        providers
            .filter_map(|provider| self.by_address.get(&(own.ip.clone(), provider.clone())))
            .flatten()
            .filter(|id| *id != connection && fresh(id).is_some())
            .cloned()
            .collect()
    }

    pub fn forget(&mut self, connection: &ConnectionId) {
        let Some(sighting) = self.seen.remove(connection) else { return };
        let key = (sighting.ip, sighting.provider);
        if let Some(there) = self.by_address.get_mut(&key) {
            there.remove(connection);
            if there.is_empty() {
                self.by_address.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

    /// Four accounts of one provider, one of its sister and one of a stranger, as (account, provider, address).
    fn world() -> EgressBuckets {
        let mut buckets = EgressBuckets::default();
        buckets.join("opencode", &"opencode".into());
        buckets.join("opencode", &"opencode-go".into());
        for (connection, provider, ip) in [
            ("o1", "opencode", "1.1.1.1"),
            ("o2", "opencode", "1.1.1.1"),
            ("o3", "opencode", "2.2.2.2"),
            ("go", "opencode-go", "1.1.1.1"),
            ("ak", "ak", "1.1.1.1"),
        ] {
            buckets.note(&provider.into(), &connection.into(), ip, START);
        }
        buckets
    }

    fn siblings(buckets: &EgressBuckets, connection: &str, now: Timestamp) -> Vec<String> {
        let found = buckets.siblings("opencode", &connection.into(), now);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn siblings_share_address_and_bucket() {
        // EG-01, EG-04, EG-09, EG-10
        let buckets = world();
        assert_eq!(siblings(&buckets, "o1", START), ["o2", "go"]);
        assert_eq!(siblings(&buckets, "o3", START), [""; 0]);
        assert_eq!(siblings(&buckets, "never seen", START), [""; 0]);
    }

    #[test]
    fn a_sighting_is_believed_for_a_day() {
        // EG-05
        let mut buckets = world();
        let day = START + Millis::hours(24);
        buckets.note(&"opencode".into(), &"o1".into(), "1.1.1.1", day);
        assert_eq!(siblings(&buckets, "o1", day - Millis::minutes(1)), ["o2", "go"]);
        assert_eq!(siblings(&buckets, "o1", day), [""; 0]);
    }

    #[test]
    fn the_same_sighting_is_news_again_after_a_while() {
        let mut buckets = world();
        for (minutes, is_news) in [(0, false), (4, false), (5, true), (9, false), (10, true)] {
            let at = START + Millis::minutes(minutes);
            assert_eq!(buckets.note(&"opencode".into(), &"o1".into(), "1.1.1.1", at), is_news, "{minutes}");
        }
        assert!(buckets.note(&"opencode".into(), &"o1".into(), "2.2.2.2", START + Millis::minutes(10)));
    }

    #[test]
    fn the_latest_sighting_wins() {
        // EG-06, EG-16
        let mut buckets = world();
        buckets.note(&"opencode".into(), &"o2".into(), "2.2.2.2", START + Millis::new(1));
        buckets.note(&"opencode".into(), &"o2".into(), "1.1.1.1", START);
        assert_eq!(siblings(&buckets, "o1", START), ["go"]);
        assert_eq!(siblings(&buckets, "o3", START), ["o2"]);
        buckets.forget(&"o2".into());
        assert_eq!(siblings(&buckets, "o3", START), [""; 0]);
    }
}
