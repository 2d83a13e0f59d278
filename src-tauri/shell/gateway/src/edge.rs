//! The network edge: who may speak to this listener at all (specification's decision 9; gateway specification, 8.3).
//!
//! Asked before any routing, `/api` and `OPTIONS` included. A browser page that resolves its own name to 127.0.0.1 sends
//! a foreign `Host`; a page that fetches us sends a foreign `Origin`. Both end here. The peer address comes from the
//! socket only; no forwarding header is ever read.

use std::net::{IpAddr, SocketAddr};

use domain::wire::code;
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, StatusCode, Uri};

use crate::error::{Blame, GatewayError};

/// The peer of a connection, put into every request by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// Origins of the window's own pages.
const OWN_ORIGINS: [&str; 3] = ["tauri://localhost", "http://tauri.localhost", "https://tauri.localhost"];

/// The largest request head that is served, in bytes (gateway specification, 1.1). The server's read buffer bounds what
/// a hostile client can make it hold, and only roughly; this is the exact limit.
pub(crate) const HEAD_LIMIT: usize = 64 * 1024;

/// Bytes of target and headers as they came, without the separators of the first line.
pub(crate) fn head_bytes(uri: &Uri, headers: &HeaderMap) -> usize {
    const SEPARATORS: usize = ": \r\n".len();
    let target = uri.path().len() + uri.query().map_or(0, str::len);
    headers.iter().fold(target, |sum, (name, value)| sum + name.as_str().len() + value.len() + SEPARATORS)
}

/// What the owner allows beyond this computer's own names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allowed<'a> {
    pub hosts: &'a [String],
    pub origins: &'a [String],
}

impl<'a> Allowed<'a> {
    pub(crate) fn by(settings: &'a settings::gateway::Config) -> Self {
        Allowed { hosts: &settings.allowed_hosts, origins: &settings.cors_origins }
    }
}

/// Refuses a foreign host or origin.
pub fn check(uri: &Uri, headers: &HeaderMap, allowed: Allowed<'_>) -> Result<(), GatewayError> {
    check_host(uri, headers, allowed.hosts)?;
    check_origin(headers, allowed.origins)
}

fn check_host(uri: &Uri, headers: &HeaderMap, allowed: &[String]) -> Result<(), GatewayError> {
    let mut named = headers.get_all(HOST).iter();
    let host = named.next().and_then(|value| value.to_str().ok()).unwrap_or("");
    let single = named.next().is_none();
    let target = uri.authority().map_or(host, |authority| authority.as_str());
    if single && is_allowed_host(host, allowed) && is_allowed_host(target, allowed) {
        return Ok(());
    }
    let message = "this Host is not served here: use http://127.0.0.1 or http://localhost, or add the name to \
                   gateway.allowedHosts in OmniRoute's settings";
    Err(GatewayError::new(Blame::Client, StatusCode::FORBIDDEN, code::FORBIDDEN_HOST, message))
}

fn is_allowed_host(authority: &str, allowed: &[String]) -> bool {
    let Some(name) = host_name(authority) else { return false };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    if name == "localhost" || allowed.iter().any(|host| host.eq_ignore_ascii_case(&name)) {
        return true;
    }
    name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The name in `name`, `name:port`, `[v6]` or `[v6]:port`; nothing when it is malformed.
fn host_name(authority: &str) -> Option<&str> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (name, port) = rest.split_once(']')?;
        return (port.is_empty() || is_port(port.strip_prefix(':')?)).then_some(name);
    }
    match authority.split_once(':') {
        Some((name, port)) => is_port(port).then_some(name),
        None => Some(authority),
    }
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok()
}

fn check_origin(headers: &HeaderMap, allowed: &[String]) -> Result<(), GatewayError> {
    for origin in headers.get_all(ORIGIN) {
        let known = origin.to_str().is_ok_and(|origin| {
            OWN_ORIGINS.contains(&origin) || allowed.iter().any(|entry| entry.eq_ignore_ascii_case(origin))
        });
        if !known {
            return Err(foreign_origin());
        }
    }
    let listed = headers.contains_key(ORIGIN);
    let crossed = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site" || site == "same-site");
    if crossed && !listed { Err(foreign_origin()) } else { Ok(()) }
}

fn foreign_origin() -> GatewayError {
    let message = "web pages may not call this gateway: add the page's origin to gateway.corsOrigins in OmniRoute's \
                   settings if you mean to allow it";
    GatewayError::new(Blame::Client, StatusCode::FORBIDDEN, code::FORBIDDEN_ORIGIN, message)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn with(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn code_of(uri: &str, headers: &HeaderMap, allowed: Allowed<'_>) -> Option<&'static str> {
        check(&uri.parse().expect("a uri"), headers, allowed).err().map(|error| error.code)
    }

    #[test]
    fn hosts() {
        for (host, served) in [
            ("127.0.0.1", true),
            ("127.0.0.1:20128", true),
            ("127.9.9.9:1", true),
            ("localhost:20128", true),
            ("LOCALHOST", true),
            ("localhost.:20128", true),
            ("[::1]:20128", true),
            ("[::1]", true),
            ("gateway.lan:20128", true),
            ("", false),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("192.168.1.4:20128", false),
            ("0.0.0.0", false),
            ("127.0.0.1:notaport", false),
            ("[::1]x", false),
            ("localhost@evil.example", false),
        ] {
            let allowed = Allowed { hosts: &["gateway.lan".to_owned()], origins: &[] };
            let refused = code_of("/v1/models", &with(&[("host", host)]), allowed);
            assert_eq!(refused.is_none(), served, "{host:?}");
        }
    }

    #[test]
    fn two_hosts_or_a_foreign_absolute_target_are_refused() {
        let two = with(&[("host", "localhost"), ("host", "evil.example")]);
        assert_eq!(code_of("/", &two, Allowed::default()), Some(code::FORBIDDEN_HOST));
        let one = with(&[("host", "localhost")]);
        assert_eq!(code_of("http://evil.example/v1/models", &one, Allowed::default()), Some(code::FORBIDDEN_HOST));
    }

    #[test]
    fn origins() {
        let listed = ["https://app.example".to_owned()];
        for (pairs, served) in [
            (&[][..], true),
            (&[("origin", "tauri://localhost")], true),
            (&[("origin", "https://app.example")], true),
            (&[("origin", "https://app.example"), ("sec-fetch-site", "cross-site")], true),
            (&[("origin", "https://evil.example")], false),
            (&[("origin", "http://127.0.0.1:20128")], false),
            (&[("origin", "null")], false),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("sec-fetch-site", "none")], true),
        ] {
            let mut headers = with(pairs);
            headers.insert(HOST, HeaderValue::from_static("localhost"));
            let refused = code_of("/", &headers, Allowed { hosts: &[], origins: &listed });
            assert_eq!(refused.is_none(), served, "{pairs:?}");
        }
    }
}
