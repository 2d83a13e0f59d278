//! How this computer reaches the providers (gateway specification, 6.2 and 8.6; resilience specification, 17.1).

use std::net::IpAddr;

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
    /// The mode `custom` needs a proxy: without one it stays, so that nothing goes past the proxy that was meant. And a service needs a scheme this program speaks.
    fn match_proxy(&mut self) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        let allow_private = self.allow_private_provider_urls;
        if self.egress_check_url.as_deref().is_some_and(|url| !is_web_url(url, allow_private)) {
            self.egress_check_url = None;
            conflicts.push(Conflict::new(&["egressCheckUrl"], SERVICE_FORM));
        }
        if self.proxy_mode == ProxyMode::Custom && self.proxy_url.is_none() {
            let conflict = Conflict::new(&["proxyMode", "proxyUrl"], "the mode custom needs a proxyUrl");
            conflicts.push(conflict.left("until it has one, no request leaves this computer"));
        }
        conflicts
    }
}

const SERVICE_FORM: &str =
    "must be a URL that begins with https://, or with http:// on this computer or where private addresses are allowed";

/// As the rules for outgoing addresses have it: nothing goes over a network in plain text.
fn is_web_url(text: &str, allow_private: bool) -> bool {
    let (rest, plain) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
        (Some(rest), _) => (rest, false),
        (None, Some(rest)) => (rest, true),
        (None, None) => return false,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_here = || {
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => host,
            Some(_) | None => authority,
        };
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        let name = bare.to_ascii_lowercase();
        name == "localhost" || name.ends_with(".localhost") || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    };
    !authority.is_empty()
        && !rest.contains(|it: char| it.is_whitespace() || it.is_control())
        && (!plain || allow_private || is_here())
}

#[cfg(test)]
mod tests {
    use domain::section::Section;
    use serde_json::{Value, json};

    use super::*;
    use crate::{Layered, Source};

    #[test]
    fn a_service_that_would_be_called_in_plain_text_over_a_network_is_refused() {
        for (url, here_only, with_private) in [
            ("https://ip.example/json?x=1", true, true),
            ("http://127.0.0.1:9000/ip", true, true),
            ("http://[::1]:9000", true, true),
            ("http://ip.LOCALHOST", true, true),
            ("http://ip.example/json", false, true),
            ("http://192.168.1.2", false, true),
            ("https:///json", false, false),
            ("ftp://ip.example", false, false),
            ("https://ip.example/a b", false, false),
        ] {
            for (allow_private_provider_urls, accepted) in [(false, here_only), (true, with_private)] {
                let egress_check_url = Some(url.to_owned());
                let mut config = Config { egress_check_url, allow_private_provider_urls, ..Config::default() };
                let told: Vec<String> = config.reconcile().into_iter().map(|conflict| conflict.message).collect();
                assert_eq!(told.is_empty(), accepted, "{url} {allow_private_provider_urls}: {told:?}");
                assert!(accepted || told == [SERVICE_FORM], "{told:?}");
            }
        }
    }

    #[test]
    fn a_custom_proxy_needs_an_address() {
        for (mode, url, wrong) in [
            (ProxyMode::Custom, Some("http://proxy.example:3128"), false),
            (ProxyMode::Custom, Some("socks5h://user:secret@127.0.0.1:1080/"), false),
            (ProxyMode::Custom, None, true),
            (ProxyMode::System, None, false),
            (ProxyMode::None, Some("http://kept.example:1"), false),
        ] {
            let mut config = Config { proxy_mode: mode, proxy_url: url.and_then(ProxyUrl::parse), ..Config::default() };
            assert_eq!(config.proxy_url.is_some(), url.is_some());
            assert_eq!(!config.reconcile().is_empty(), wrong, "{mode:?} {url:?}");
            assert_eq!(config.proxy_mode, mode, "nothing goes past the proxy that was meant");
        }
    }
    fn layers(environment: &[(&str, &str)], file: Option<Value>, stored: Value) -> (Layered, Vec<String>) {
        let environment = environment.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let stored = stored.as_object().expect("a tree of sections").clone().into_iter().collect();
        let (layered, warnings) = Layered::new(&environment, file.as_ref(), stored);
        (layered, warnings.iter().map(ToString::to_string).collect())
    }

    const SECRET: &str = "socks5h://me:hunter2@proxy.example:1080";
    const SHOWN: &str = "socks5h://me@proxy.example:1080";

    fn proxy_of(layered: &Layered) -> Option<&str> {
        layered.effective().network.proxy_url.as_ref().map(ProxyUrl::expose)
    }

    #[test]
    fn the_password_of_the_shared_proxy_is_kept_and_never_shown() {
        let environment = [("OMNIROUTE_PROXY_URL", "http://env:swordfish@proxy.example:1/")];
        let file = json!({ "network": { "proxyUrl": "http://file:opensesame@proxy.example:1" } });
        let (mut layered, warnings) = layers(&environment, Some(file), json!({}));
        assert_eq!(warnings, [""; 0]);
        assert_eq!(proxy_of(&layered), Some("http://env:swordfish@proxy.example:1"));

        let changed = layered.patch(&json!({ "network": { "proxyUrl": SECRET } })).expect("a valid patch");
        assert_eq!(changed.sections["network"], json!({ "proxyUrl": SECRET }), "whole, for the store to seal");
        assert_eq!(layered.tree()["network"]["proxyUrl"], json!(SHOWN));
        let view = layered.fields().into_iter().find(|view| view.field.path == "network.proxyUrl").expect("the proxy");
        assert_eq!((view.value, view.environment), (json!(SHOWN), Some(json!("http://env@proxy.example:1"))));
        assert!(view.field.is_secret);
        let shown = format!("{:?} {}", layered.effective(), json!(layered.fields()));
        for password in ["hunter2", "swordfish", "opensesame"] {
            assert!(!shown.contains(password), "{shown}");
        }

        let back = json!({ "network": { "proxyUrl": SHOWN, "connectTimeoutMs": 5_000 } });
        let changed = layered.patch(&back).expect("a valid patch");
        assert_eq!(changed.paths, ["network.connectTimeoutMs"]);
        assert_eq!(changed.sections["network"], json!({ "proxyUrl": SECRET, "connectTimeoutMs": 5_000 }));
        assert_eq!(proxy_of(&layered), Some(SECRET));
        layered.patch(&json!({ "network": { "proxyUrl": "http://me@proxy.example:1080" } })).expect("another proxy");
        assert_eq!(proxy_of(&layered), Some("http://me@proxy.example:1080"));
    }

    #[test]
    fn the_environment_s_proxy_sent_back_as_shown_stays_the_environment_s() {
        let (mut layered, _) = layers(&[("OMNIROUTE_PROXY_URL", SECRET)], None, json!({}));
        let changed = layered.patch(&json!({ "network": { "proxyUrl": SHOWN } })).expect("a valid patch");
        assert_eq!(changed.sections["network"], json!({}));
        assert_eq!((proxy_of(&layered), layered.source("network.proxyUrl")), (Some(SECRET), Source::Environment));
    }

    #[test]
    fn a_proxy_of_a_wrong_form_is_refused_with_its_field_and_what_would_be_right() {
        let (mut layered, _) = layers(&[], None, json!({}));
        for wrong in [json!("ftp://me:hunter2@proxy.example"), json!("proxy.example:1"), json!(""), json!(7)] {
            let errors = layered.patch(&json!({ "network": { "proxyUrl": wrong } })).expect_err("a refusal");
            let expected = format!("network.proxyUrl: expected {}", ProxyUrl::FORM);
            assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected], "{wrong}");
            assert_eq!(errors[0].code, Some(domain::wire::fault::ADDRESS_FORM));
        }
    }

    #[test]
    fn a_proxy_that_cannot_be_read_is_not_gone_past() {
        let sealed = json!({ "network": { "proxyMode": "custom", "proxyUrl": { "sealed": "AAAA" } } });
        let (mut layered, warnings) = layers(&[], None, sealed);
        let (form, left) = (ProxyUrl::FORM, "until it has one, no request leaves this computer");
        assert_eq!(
            warnings,
            [
                format!("network.proxyUrl: expected {form}; ignored"),
                format!("network.proxyMode: the mode custom needs a proxyUrl; {left}"),
            ]
        );
        assert_eq!(layered.effective().network.proxy_mode, ProxyMode::Custom);
        let changed = layered.patch(&json!({ "network": { "connectTimeoutMs": 5_000 } })).expect("another setting");
        assert_eq!(changed.sections["network"]["proxyUrl"], json!({ "sealed": "AAAA" }), "its key may come back");
        assert!(layered.patch(&json!({ "network": { "proxyUrl": SECRET } })).is_ok());
        assert_eq!(proxy_of(&layered), Some(SECRET));
    }
}
