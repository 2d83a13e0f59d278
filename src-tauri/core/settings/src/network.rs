//! How this computer reaches the providers (gateway specification, 6.2 and 8.6; resilience specification, 17.1).

use domain::section::Conflict;
use domain::{Millis, ProxyUrl, choice, section};

choice! {
    /// The way out for connections to providers.
    pub enum ProxyMode {
        /// Directly.
        None = "none",
        /// Through the proxy of the operating system.
        System = "system",
        /// Through `proxyUrl`.
        Custom = "custom",
    }
}

section! {
    /// How this computer reaches the providers.
    pub struct Config {
        /// How long opening a connection to a provider may take.
        pub connect_timeout: Millis = Millis::seconds(10), in Millis::new(100)..=Millis::minutes(5),
            env "OMNIROUTE_CONNECT_TIMEOUT_MS";
        /// How long a provider may take until its answer begins. Large prompts are read before the first byte.
        pub response_start_timeout: Millis = Millis::seconds(600), in Millis::seconds(1)..=Millis::hours(24),
            env "FETCH_TIMEOUT_MS";
        /// How long a stream may be silent before it counts as dead.
        pub stream_idle_timeout: Millis = Millis::seconds(300), in Millis::seconds(1)..=Millis::hours(24),
            env "STREAM_IDLE_TIMEOUT_MS";
        /// How long a stream may bring nothing useful before another account is tried; long prompts and many tools extend it.
        /// 0 is off.
        pub stream_readiness_timeout: Millis = Millis::seconds(80), in Millis::ZERO..=Millis::hours(1),
            env "STREAM_READINESS_TIMEOUT_MS";
        /// How far long prompts and many tools extend it.
        pub stream_readiness_max_timeout: Millis = Millis::seconds(180), in Millis::ZERO..=Millis::hours(1),
            env "STREAM_READINESS_MAX_TIMEOUT_MS";
        /// How long a stream that has begun to think may go on without thinking further or answering. 0 is off.
        pub stream_content_stall_timeout: Millis = Millis::seconds(300), in Millis::ZERO..=Millis::hours(24),
            env "STREAM_CONTENT_STALL_TIMEOUT_MS";
        /// The way out for connections to providers.
        pub proxy_mode: ProxyMode = ProxyMode::None, env "OMNIROUTE_PROXY_MODE";
        /// Proxy of the mode `custom`, with scheme `http`, `https`, `socks5` (names are looked up here) or `socks5h` (by the
        /// proxy), and with user name and password where it wants them.
        pub proxy_url: Option<ProxyUrl>, env "OMNIROUTE_PROXY_URL";
        /// A service that answers with the address it sees, as text or as `{"ip": …}`. Asked only for providers that count
        /// quotas by address, through the way out of their accounts; without it, accounts that take the same way count as
        /// one.
        pub egress_check_url: Option<String>, env "OMNIROUTE_EGRESS_CHECK_URL";
        /// Whether providers may be on private addresses without each being allowed on its own.
        pub allow_private_provider_urls: bool, env "ALLOW_PRIVATE_PROVIDER_URLS";
    }
    reconcile = Config::match_proxy;
}

impl Config {
    /// The mode `custom` needs a proxy, and a service needs a scheme this program speaks.
    fn match_proxy(&mut self) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        if self.egress_check_url.as_deref().is_some_and(|url| !is_web_url(url)) {
            self.egress_check_url = None;
            conflicts.push(Conflict::new(&["egressCheckUrl"], "must be a URL that begins with https:// or http://"));
        }
        if self.proxy_mode == ProxyMode::Custom && self.proxy_url.is_none() {
            self.proxy_mode = ProxyMode::None;
            conflicts.push(Conflict::new(&["proxyMode", "proxyUrl"], "the mode custom needs a proxyUrl"));
        }
        conflicts
    }
}

fn is_web_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(|it: char| it.is_whitespace() || it.is_control()))
}

#[cfg(test)]
mod tests {
    use domain::section::Section;

    use super::*;

    #[test]
    fn a_custom_proxy_needs_an_address() {
        for (mode, url, repaired) in [
            (ProxyMode::Custom, Some("http://proxy.example:3128"), false),
            (ProxyMode::Custom, Some("socks5h://user:secret@127.0.0.1:1080/"), false),
            (ProxyMode::Custom, None, true),
            (ProxyMode::System, None, false),
            (ProxyMode::None, Some("http://kept.example:1"), false),
        ] {
            let mut config = Config { proxy_mode: mode, proxy_url: url.and_then(ProxyUrl::parse), ..Config::default() };
            assert_eq!(config.proxy_url.is_some(), url.is_some());
            assert_eq!(!config.reconcile().is_empty(), repaired, "{mode:?} {url:?}");
            assert_eq!(config.proxy_mode == mode, !repaired, "{mode:?} {url:?}");
        }
    }
}
