//! The listener that agents talk to (gateway specification, 1.1, 1.9 and 6.2).

use std::net::IpAddr;

use domain::section::Conflict;
use domain::wire::DEFAULT_PORT;
use domain::{Millis, section};

section! {
    /// The listener that agents talk to.
    pub struct Config {
        /// Port of the listener. A change moves it at once; a port in use changes nothing.
        pub port: u16 = DEFAULT_PORT, in 1..=65_535, env "OMNIROUTE_PORT";
        /// Address of the listener. Anything but this computer's own needs keys to be required.
        pub bind_address: String = LOOPBACK.to_owned(), env "OMNIROUTE_BIND_ADDRESS";
        /// Whether agents must present a key. Can be switched off only while the listener is on this computer's own address.
        pub require_api_key: bool = true, env "REQUIRE_API_KEY";
        /// Host names, besides this computer's own, under which requests are accepted; without port.
        pub allowed_hosts: Vec<String>, env "OMNIROUTE_ALLOWED_HOSTS";
        /// Web origins whose pages may call the agent surface, such as `https://app.example`.
        pub cors_origins: Vec<String>, env "OMNIROUTE_CORS_ORIGINS";
        /// Largest request body that is accepted.
        pub body_limit_bytes: u64 = 67_108_864, in 1_024..=1_073_741_824, env "OMNIROUTE_BODY_LIMIT_BYTES";
        /// How long a streaming request waits for the provider before the answer is opened and kept alive.
        pub keep_alive_after: KeepAliveAfter, env "OMNIROUTE_KEEP_ALIVE_AFTER_", wire "keepAliveAfterMs";
        /// Time between two signs of life while a provider has not begun to answer.
        pub keep_alive_interval: Millis = Millis::new(2_500), in Millis::new(250)..=Millis::minutes(1),
            env "OMNIROUTE_KEEP_ALIVE_INTERVAL_MS";
        /// Silence after which a stream that has begun gives a sign of life, and gives it again; 0 is off.
        pub heartbeat_interval: Millis = Millis::seconds(15), in Millis::ZERO..=Millis::minutes(10),
            env "SSE_HEARTBEAT_INTERVAL_MS";
        /// Client connections open at the same time; further ones wait to be accepted.
        pub max_connections: u32 = 10_000, in 16..=100_000, env "OMNIROUTE_MAX_CONNECTIONS";
        /// How long running requests may finish when the program stops; 0 cuts them off.
        pub drain_timeout: Millis = Millis::seconds(30), in Millis::ZERO..=Millis::minutes(10),
            env "OMNIROUTE_DRAIN_TIMEOUT_MS";
    }
    reconcile = Config::guard_exposure;
}

section! {
    /// Opening the answer early keeps a client from giving up, and takes away the status code of a later failure; clients
    /// differ in which of the two they need.
    pub struct KeepAliveAfter {
        /// For Anthropic Messages; 0 is off.
        pub messages: Millis = Millis::seconds(2), in Millis::ZERO..=Millis::minutes(10), env "MESSAGES_MS", wire "messages";
        /// For OpenAI Responses; 0 is off.
        pub responses: Millis = Millis::seconds(2), in Millis::ZERO..=Millis::minutes(10), env "RESPONSES_MS",
            wire "responses";
        /// For OpenAI Chat Completions, whose clients often rely on status codes to retry; 0 is off.
        pub chat: Millis = Millis::seconds(15), in Millis::ZERO..=Millis::minutes(10), env "CHAT_MS", wire "chat";
        /// For Gemini generateContent; 0 is off.
        pub gemini: Millis = Millis::seconds(15), in Millis::ZERO..=Millis::minutes(10), env "GEMINI_MS", wire "gemini";
    }
}

const LOOPBACK: &str = "127.0.0.1";

impl Config {
    /// Whether only this computer can reach the listener.
    pub fn is_loopback_only(&self) -> bool {
        is_loopback(&self.bind_address)
    }

    /// Nobody else reaches the listener without a key (decisions 2 and 9), and no wildcard opens it to every web page.
    fn guard_exposure(&mut self) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        if self.bind_address != "localhost" && self.bind_address.parse::<IpAddr>().is_err() {
            self.bind_address = LOOPBACK.to_owned();
            conflicts.push(Conflict::new(&["bindAddress"], "must be an IP address such as 127.0.0.1 or 0.0.0.0"));
        }
        if !self.require_api_key && !self.is_loopback_only() {
            self.require_api_key = true;
            let message = "keys can be left out only while bindAddress is this computer's own (127.0.0.1 or ::1)";
            conflicts.push(Conflict::new(&["requireApiKey", "bindAddress"], message));
        }
        if retain(&mut self.allowed_hosts, is_host_name) {
            let message = "each must be a host name or address without scheme, port, path or wildcard";
            conflicts.push(Conflict::new(&["allowedHosts"], message));
        }
        if retain(&mut self.cors_origins, is_origin) {
            let message = "each must be an origin such as https://app.example, without path or wildcard";
            conflicts.push(Conflict::new(&["corsOrigins"], message));
        }
        conflicts
    }
}

fn is_loopback(address: &str) -> bool {
    address == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Drops what `keep` refuses; whether anything was dropped.
fn retain(items: &mut Vec<String>, keep: fn(&str) -> bool) -> bool {
    let before = items.len();
    items.retain(|item| keep(item));
    items.len() < before
}

fn is_host_name(text: &str) -> bool {
    let named = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    named || text.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

fn is_origin(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|authority| {
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        is_host_name(host) && port.is_none_or(|port| port.parse::<u16>().is_ok())
    })
}

#[cfg(test)]
mod tests {
    use domain::section::Section;

    use super::*;

    #[test]
    fn only_this_computer_may_go_without_a_key() {
        for (address, alone) in [
            ("127.0.0.1", true),
            ("127.8.0.1", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("localhost", true),
            ("0.0.0.0", false),
            ("::", false),
            ("192.168.1.2", false),
        ] {
            let mut config = Config { bind_address: address.to_owned(), require_api_key: false, ..Config::default() };
            let conflicts = config.reconcile();
            assert_eq!(config.require_api_key, !alone, "{address}");
            assert_eq!(conflicts.is_empty(), alone, "{address}: {conflicts:?}");
        }
    }

    #[test]
    fn an_address_that_is_none_falls_back_to_this_computer() {
        let mut config = Config { bind_address: "everywhere".to_owned(), ..Config::default() };
        assert_eq!(config.reconcile().len(), 1);
        assert_eq!(config.bind_address, LOOPBACK);
    }

    #[test]
    fn wildcards_and_paths_are_dropped() {
        let mut config = Config {
            allowed_hosts: ["box.local", "*", "10.0.0.2", "[fd00::1]", "a:80", ""].map(str::to_owned).to_vec(),
            cors_origins: ["https://app.example", "http://box:3000", "*", "null", "https://a/b", "https://a:x"]
                .map(str::to_owned)
                .to_vec(),
            ..Config::default()
        };
        assert_eq!(config.reconcile().len(), 2);
        assert_eq!(config.allowed_hosts, ["box.local", "10.0.0.2", "[fd00::1]"]);
        assert_eq!(config.cors_origins, ["https://app.example", "http://box:3000"]);
    }
}
