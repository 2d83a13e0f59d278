//! Through which address an account leaves (resilience specification, 20).
//!
//! Some providers count a free quota per address, which makes siblings of all accounts behind one. An address can only be
//! seen from outside, but what matters is who shares it, and that is known without asking anybody: accounts that take the
//! same way out, directly or through the same proxy, leave through the same address. So the way out is noted with every
//! request to such a provider.
//!
//! Where a proxy changes its address, or two ways share one, only somebody outside can tell. `network.egressCheckUrl` names
//! a service that answers with the address it sees; then its word counts. It is asked through the way in question, once for
//! all accounts that take it, when its last word is older than five minutes and there is traffic; until it has answered,
//! history stands.

use std::collections::BTreeMap;
use std::net::IpAddr;

use domain::{Candidate, Millis, Timestamp, hex};
use http::header::{ACCEPT, CONTENT_LENGTH};
use parking_lot::Mutex;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use upstream::{Payload, Proxy, Route, Target};

use crate::gateway::Gateway;
use crate::whole_body::{self, Terms};

/// How long the word of the service is taken for the present.
const FRESH: Millis = Millis::minutes(5);
/// How long the service may take.
const PATIENCE: Millis = Millis::seconds(10);
/// The longest answer in bytes that can be an address.
const ANSWER: u64 = 1_024;

/// What the service said, by way out.
#[derive(Debug, Default)]
pub(crate) struct Egress {
    asked: Mutex<BTreeMap<Route, Asked>>,
}

#[derive(Clone, Debug)]
struct Asked {
    at: Timestamp,
    word: Word,
}

#[derive(Clone, Debug)]
enum Word {
    /// The service has not answered yet.
    Awaited,
    Seen(IpAddr),
    /// It gave no address: the way out itself has to do.
    Nothing,
}

/// A request of this account is about to leave.
pub(crate) fn leaves(gateway: &Gateway, candidate: &Candidate, target: &Target) {
    if candidate.nature.egress_bucket.is_none() {
        return;
    }
    let settings = gateway.settings();
    let Some(url) = &settings.network.egress_check_url else {
        return gateway.engine().note_egress(&candidate.connection, &way_out(&target.route));
    };
    match gateway.egress().word(&target.route, gateway.now()) {
        Some(Word::Seen(ip)) => gateway.engine().note_egress(&candidate.connection, &ip.to_string()),
        Some(Word::Nothing) => gateway.engine().note_egress(&candidate.connection, &way_out(&target.route)),
        Some(Word::Awaited) => {}
        None => {
            gateway.tracker().spawn(ask(gateway.clone(), target.route.clone(), url.clone()));
        }
    }
}

impl Egress {
    /// What is known of this way; nothing when the service is to be asked, which the caller then does.
    fn word(&self, route: &Route, now: Timestamp) -> Option<Word> {
        let mut asked = self.asked.lock();
        if let Some(known) = asked.get(route).filter(|known| now < known.at + FRESH) {
            return Some(known.word.clone());
        }
        asked.retain(|_, known| now < known.at + FRESH);
        asked.insert(route.clone(), Asked { at: now, word: Word::Awaited });
        None
    }

    fn answered(&self, route: &Route, word: Word, at: Timestamp) {
        self.asked.lock().insert(route.clone(), Asked { at, word });
    }
}

/// Asks the service, and notes its word for every account that takes this way.
async fn ask(gateway: Gateway, route: Route, url: String) {
    let ends = gateway.now() + PATIENCE;
    let seen = tokio::select! {
        biased;
        () = gateway.cancel().cancelled() => return,
        () = gateway.clock().sleep_until(ends) => None,
        seen = fetch(&gateway, &route, &url) => seen,
    };
    let Some(ip) = seen else {
        tracing::warn!("the service of network.egressCheckUrl gave no address: ways out are told apart instead");
        return gateway.egress().answered(&route, Word::Nothing, gateway.now());
    };
    gateway.egress().answered(&route, Word::Seen(ip), gateway.now());
    let catalog = gateway.catalog();
    for entry in gateway.connections().iter() {
        let Some(provider) = catalog.get(&entry.connection.provider) else { continue };
        if provider.egress_bucket.is_some() && gateway.target_at(entry, provider).route == route {
            gateway.engine().note_egress(&entry.connection.id, &ip.to_string());
        }
    }
}

async fn fetch(gateway: &Gateway, route: &Route, url: &str) -> Option<IpAddr> {
    let request =
        http::Request::get(url).header(ACCEPT, "text/plain, application/json").body(Payload::default()).ok()?;
    let response = gateway.transport().send(request, route).await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let announced = response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let terms = Terms { announced: announced.unwrap_or(0), limit: ANSWER, silence: PATIENCE, clock: gateway.clock() };
    let body = whole_body::collect(response.into_body(), terms, |_| {}).await.ok()?;
    address_in(&body)
}

/// The address as plain text, or as the member `ip` of a JSON object.
fn address_in(body: &[u8]) -> Option<IpAddr> {
    #[derive(Deserialize)]
    struct Said {
        ip: IpAddr,
    }
    let text = std::str::from_utf8(body).ok()?.trim();
    text.parse().ok().or_else(|| serde_json::from_str::<Said>(text).ok().map(|said| said.ip))
}

/// A way out under a name that shows nothing of it: a proxy's address may carry a password.
fn way_out(route: &Route) -> String {
    match &route.proxy {
        None => "direct".to_owned(),
        Some(Proxy::System) => "system".to_owned(),
        Some(Proxy::Missing) => "missing".to_owned(),
        Some(Proxy::Url(url)) => {
            let digest = Sha256::digest(url.as_bytes());
            format!("proxy-{}", hex(&digest[..8]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_in_either_form_and_nothing_else_is() {
        for (said, address) in [
            ("203.0.113.7\n", Some("203.0.113.7")),
            (" 2001:db8::7 ", Some("2001:db8::7")),
            (r#"{"ip":"203.0.113.7","country":"XX"}"#, Some("203.0.113.7")),
            ("<html>203.0.113.7</html>", None),
            (r#"{"address":"203.0.113.7"}"#, None),
            ("", None),
        ] {
            assert_eq!(address_in(said.as_bytes()), address.map(|it| it.parse().expect("an address")), "{said}");
        }
    }

    #[test]
    fn a_way_out_is_told_apart_without_its_password() {
        let through = |url: &str| way_out(&Route { proxy: Some(Proxy::from(url)), allow_private: false, fresh: false });
        let one = through("http://me:hunter2@proxy.example:3128");
        assert_eq!(one, through("http://me:hunter2@proxy.example:3128"));
        assert_ne!(one, through("http://me:other@proxy.example:3128"));
        assert!(!one.contains("hunter2") && !one.contains("example"), "{one}");
        assert_ne!(way_out(&Route::default()), one);
    }
}
