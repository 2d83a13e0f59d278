//! The address of an outgoing proxy: what may be typed, and what may be shown of it.
//!
//! The shared proxy and that of a single connection are held to the same form, which is what the transport speaks. The
//! password inside never leaves: printed, serialised and shown, the address stands without it. An address that comes back
//! as it was shown is the one that is kept, so nobody has to type the password again to change something else.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::section::{FieldType, Kind};
use crate::wire::fault;

/// A proxy's address, with or without user name and password.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProxyUrl(String);

/// The parts of an address, as they stand in it.
struct Parts<'a> {
    scheme: &'a str,
    user: Option<&'a str>,
    password: Option<&'a str>,
    /// Host and port.
    place: &'a str,
}

impl ProxyUrl {
    /// Completes "must be …".
    pub const FORM: &'static str = "a URL such as http://host:port, with scheme http, https, socks5 or socks5h; \
                                    write a slash, ? or # of a password as %2F, %3F or %23";

    /// What the transport speaks.
    pub const SCHEMES: [&'static str; 4] = ["http", "https", "socks5", "socks5h"];

    /// Nothing when the text is not of the form.
    pub fn parse(text: &str) -> Option<ProxyUrl> {
        let text = text.trim();
        let text = text.strip_suffix('/').unwrap_or(text);
        parts(text)?.is_usable().then(|| ProxyUrl(text.to_owned()))
    }

    /// The whole address, password included: for the transport, and to be sealed.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The address without its password.
    pub fn shown(&self) -> String {
        match parts(&self.0) {
            Some(Parts { scheme, user: Some(""), password: Some(_), place }) => format!("{scheme}://{place}"),
            Some(Parts { scheme, user: Some(user), password: Some(_), place }) => format!("{scheme}://{user}@{place}"),
            Some(_) | None => self.0.clone(),
        }
    }

    /// Whether somebody sent back what was shown.
    pub fn is_shown_as(&self, text: &str) -> bool {
        let text = text.trim();
        text.strip_suffix('/').unwrap_or(text) == self.shown()
    }
}

fn parts(text: &str) -> Option<Parts<'_>> {
    let (scheme, authority) = text.split_once("://")?;
    let (access, place) = match authority.rsplit_once('@') {
        Some((access, place)) => (Some(access), place),
        None => (None, authority),
    };
    let (user, password) = match access.map(|access| access.split_once(':')) {
        Some(Some((user, password))) => (Some(user), Some(password)),
        Some(None) => (access, None),
        None => (None, None),
    };
    Some(Parts { scheme, user, password, place })
}

impl Parts<'_> {
    fn is_usable(&self) -> bool {
        let plain = |text: &str| {
            !text.contains(|letter: char| "/?#\\".contains(letter) || letter.is_whitespace() || letter.is_control())
        };
        let (host, port) = match self.place.rsplit_once(':') {
            // The colons of a bare `[::1]` are not those in front of a port.
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            Some(_) | None => (self.place, None),
        };
        let numbered =
            |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse().is_ok_and(|it: u16| it > 0);
        ProxyUrl::SCHEMES.contains(&self.scheme)
            && self.user.is_none_or(plain)
            && self.password.is_none_or(plain)
            && port.is_none_or(numbered)
            && is_host(host)
    }
}

/// A name or an address in its usual spelling. Names beyond ASCII are written in their ASCII form (`xn--…`), which every
/// proxy understands.
fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.parse::<Ipv6Addr>().is_ok();
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let last = name.rsplit('.').next().unwrap_or_default();
    if !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()) {
        return name.parse::<Ipv4Addr>().is_ok();
    }
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    name.split('.').all(label)
}

/// Without the password, as everything that is printed.
impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyUrl({})", self.shown())
    }
}

/// Without the password: whoever needs it asks for it by name ([`ProxyUrl::expose`]).
impl Serialize for ProxyUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.shown())
    }
}

impl FieldType for ProxyUrl {
    type Item = Self;
    const KIND: Kind = Kind::Text;
    const EXPECTED: &'static str = ProxyUrl::FORM;
    const FAULT: &'static str = fault::ADDRESS_FORM;
    const IS_SECRET: bool = true;

    fn from_json(value: &Value) -> Option<Self> {
        ProxyUrl::parse(value.as_str()?)
    }

    fn from_text(text: &str) -> Option<Self> {
        ProxyUrl::parse(text)
    }

    fn exposed(&self) -> Value {
        Value::from(self.expose())
    }

    fn items_mut(&mut self) -> &mut [Self] {
        std::slice::from_mut(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_kept_as_typed_and_shown_without_its_password() {
        for (typed, kept, shown) in [
            ("http://proxy.example:3128", "http://proxy.example:3128", "http://proxy.example:3128"),
            (" https://proxy.example/ ", "https://proxy.example", "https://proxy.example"),
            ("socks5://127.0.0.1:1080", "socks5://127.0.0.1:1080", "socks5://127.0.0.1:1080"),
            ("socks5h://[::1]:1080", "socks5h://[::1]:1080", "socks5h://[::1]:1080"),
            ("socks5h://[::1]", "socks5h://[::1]", "socks5h://[::1]"),
            ("http://me@proxy.example", "http://me@proxy.example", "http://me@proxy.example"),
            ("http://me:hunter2@proxy.example:1", "http://me:hunter2@proxy.example:1", "http://me@proxy.example:1"),
            ("http://me:a:b@c@proxy.example", "http://me:a:b@c@proxy.example", "http://me@proxy.example"),
            ("socks5://:hunter2@proxy_1", "socks5://:hunter2@proxy_1", "socks5://proxy_1"),
            ("http://me:@proxy.example.", "http://me:@proxy.example.", "http://me@proxy.example."),
        ] {
            let url = ProxyUrl::parse(typed).unwrap();
            assert_eq!((url.expose(), url.shown().as_str()), (kept, shown), "{typed}");
            assert_eq!(serde_json::json!(url), serde_json::json!(shown));
            assert_eq!(format!("{url:?}"), format!("ProxyUrl({shown})"));
            assert!(url.is_shown_as(shown) && url.is_shown_as(&format!(" {shown}/ ")), "{typed}");
        }
        assert!(!ProxyUrl::parse("http://me:hunter2@a").unwrap().is_shown_as("http://me:hunter2@a"));
    }

    #[test]
    fn what_the_transport_cannot_use_is_refused() {
        for text in [
            "",
            "proxy.example:3128",
            "ftp://proxy.example",
            "socks4://proxy.example",
            "HTTP//proxy.example",
            "http://",
            "http:///",
            "http://:3128",
            "http://proxy.example:",
            "http://proxy.example:0",
            "http://proxy.example:65536",
            "http://proxy.example:+1",
            "http://proxy.example/path",
            "http://proxy.example//",
            "http://proxy.example?x",
            "http://proxy.example#x",
            "http://a b",
            "http://me:a/b@proxy.example",
            "http://me:a b@proxy.example",
            "http://999.1.1.1",
            "http://1.2.3",
            "http://[::1",
            "http://[::g]",
            "http://a..b",
            "socks5://prøxy.example",
            "http://proxy.example:80:90",
            "http://a\\b",
        ] {
            assert_eq!(ProxyUrl::parse(text), None, "{text:?}");
        }
    }
}
