//! Where this gateway may send a request (gateway specification, 8.6).
//!
//! A base URL is typed by a person or imported from a file, so it may point anywhere: at a cloud's metadata service, at
//! a router in the living room, at this gateway itself. It is therefore checked twice. [`check_base_url`] checks what is
//! written when it is saved and before every request; [`check_resolved`] checks what a name turned out to mean, when the
//! connection is made, and the connection is made to the very address that was checked. A name that changes its answer
//! between the two gains nothing.
//!
//! Three kinds of address exist: *public* ones are fine over https; *near* ones (private ranges) need the consent stored
//! with the connection or node; *forbidden* ones are refused whatever anybody consented to. Loopback is where local
//! model servers live and needs no consent, unless it hides behind a name that does not say so.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use thiserror::Error;
use url::{Host, Url};

/// What one connection is allowed to reach.
#[derive(Clone, Copy, Debug, Default)]
pub struct Policy<'a> {
    /// The owner consented to private ranges, and to plain http inside them.
    pub allow_private: bool,
    /// Where this gateway itself listens.
    pub own: &'a [SocketAddr],
}

/// Why an address is refused. Every message says what to do instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddressError {
    #[error("the base URL is not a URL ({0}): write it in full, for example https://api.example.com/v1")]
    NotAUrl(String),
    #[error("the base URL starts with {0}:, but only https and http are possible")]
    Scheme(String),
    #[error("the base URL contains a user name or password: remove it and store the credential as the key")]
    UserInfo,
    #[error("the base URL contains a query or fragment: end it with the version segment, for example /v1")]
    QueryOrFragment,
    #[error("plain http would send the key readable over the network to {0}: use https")]
    PlainHttp(String),
    #[error("{0} is a private address: allow private networks for this connection if the server is yours")]
    Private(String),
    #[error("{address} is refused: {kind} is never a model provider")]
    Forbidden { address: String, kind: &'static str },
    #[error("{0} is this gateway itself: a request would go round in circles")]
    OwnListener(String),
}

/// What kind of place an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Public,
    Loopback,
    Private,
    Forbidden(&'static str),
}

/// Names of metadata services, which answer with credentials of the machine.
const METADATA_NAMES: [&str; 5] =
    ["metadata.google.internal", "metadata.goog", "metadata", "instance-data", "instance-data.ec2.internal"];

/// What `localhost` can mean.
const LOOPBACKS: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// Checks a base URL as it is saved: scheme, form and host. Names are not resolved here.
pub fn check_base_url(text: &str, policy: &Policy<'_>) -> Result<Url, AddressError> {
    let url = Url::parse(text.trim()).map_err(|error| AddressError::NotAUrl(error.to_string()))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(AddressError::QueryOrFragment);
    }
    check_url(&url, policy)?;
    Ok(url)
}

/// The same for the complete URL of a request, query included: literal addresses, names known to be bad, our own door.
pub fn check_url(url: &Url, policy: &Policy<'_>) -> Result<(), AddressError> {
    if !matches!(url.scheme(), "https" | "http") {
        return Err(AddressError::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressError::UserInfo);
    }
    let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
        return Err(AddressError::NotAUrl("it names no host".to_owned()));
    };
    let plain = url.scheme() == "http";
    match host {
        Host::Ipv4(ip) => check_literal(IpAddr::V4(ip), port, plain, policy),
        Host::Ipv6(ip) => check_literal(IpAddr::V6(ip), port, plain, policy),
        Host::Domain(name) => check_name(name, port, plain, policy),
    }
}

/// Checks one bare address, without regard to scheme or port.
pub fn check_ip(ip: IpAddr, policy: &Policy<'_>) -> Result<(), AddressError> {
    match place(ip) {
        Place::Public | Place::Loopback => Ok(()),
        Place::Private if policy.allow_private => Ok(()),
        Place::Private => Err(AddressError::Private(ip.to_string())),
        Place::Forbidden(kind) => Err(AddressError::Forbidden { address: ip.to_string(), kind }),
    }
}

/// Checks an address that `name` resolved to, when the connection is made.
///
/// `own` holds our listeners only when the destination port is one of theirs, because a resolver knows no port. A public
/// name that leads to loopback counts as private: that is how a hostile name reaches a server behind the firewall.
pub fn check_resolved(name: &str, ip: IpAddr, plain: bool, policy: &Policy<'_>) -> Result<(), AddressError> {
    let seen = format!("{name} ({ip})");
    let found = match place(ip) {
        Place::Loopback if !is_local_name(name) => Place::Private,
        Place::Public | Place::Private if is_local_name(name) => {
            return Err(AddressError::Forbidden { address: seen, kind: "a foreign address for localhost" });
        }
        other => other,
    };
    match found {
        Place::Forbidden(kind) => return Err(AddressError::Forbidden { address: seen, kind }),
        Place::Private if !policy.allow_private => return Err(AddressError::Private(seen)),
        Place::Public if plain => return Err(AddressError::PlainHttp(seen)),
        Place::Public | Place::Loopback | Place::Private => {}
    }
    if policy.own.iter().any(|own| is_same_machine(own.ip(), ip)) {
        return Err(AddressError::OwnListener(seen));
    }
    Ok(())
}

fn check_literal(ip: IpAddr, port: u16, plain: bool, policy: &Policy<'_>) -> Result<(), AddressError> {
    check_ip(ip, policy)?;
    if plain && place(ip) == Place::Public {
        return Err(AddressError::PlainHttp(ip.to_string()));
    }
    if policy.own.iter().any(|own| own.port() == port && is_same_machine(own.ip(), ip)) {
        return Err(AddressError::OwnListener(SocketAddr::new(ip, port).to_string()));
    }
    Ok(())
}

fn check_name(name: &str, port: u16, plain: bool, policy: &Policy<'_>) -> Result<(), AddressError> {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    if name.is_empty() {
        return Err(AddressError::NotAUrl("it names no host".to_owned()));
    }
    if METADATA_NAMES.contains(&name.as_str()) {
        return Err(AddressError::Forbidden { address: name, kind: "a cloud metadata service" });
    }
    if is_local_name(&name) {
        let reaches = |own: IpAddr| LOOPBACKS.iter().any(|ip| is_same_machine(own, *ip));
        if policy.own.iter().any(|own| own.port() == port && reaches(own.ip())) {
            return Err(AddressError::OwnListener(format!("{name}:{port}")));
        }
        return Ok(());
    }
    if plain && !policy.allow_private {
        return Err(AddressError::PlainHttp(name));
    }
    Ok(())
}

/// Names that mean this machine by definition (RFC 6761).
fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

/// Whether a listener at `own` receives what is sent to `ip`. One at the unspecified address receives all of loopback.
fn is_same_machine(own: IpAddr, ip: IpAddr) -> bool {
    let (own, ip) = (unmapped(own), unmapped(ip));
    own == ip || (own.is_unspecified() && place(ip) == Place::Loopback)
}

/// The IPv4 address that an IPv6 one stands for: mapped, compatible, NAT64 and 6to4 forms.
fn unmapped(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    let [a, b, c, .., y, z] = v6.segments();
    let low = (u32::from(y) << 16) | u32::from(z);
    let zero_middle = v6.segments()[2..6] == [0; 4];
    match (a, b) {
        (0, 0) if v6.segments()[2..5] == [0; 3] && v6.segments()[5] == 0xffff => Ipv4Addr::from_bits(low).into(),
        (0, 0) if zero_middle && low > 1 => Ipv4Addr::from_bits(low).into(),
        (0x64, 0xff9b) if zero_middle => Ipv4Addr::from_bits(low).into(),
        (0x2002, _) => Ipv4Addr::from_bits((u32::from(b) << 16) | u32::from(c)).into(),
        _ => ip,
    }
}

fn place(ip: IpAddr) -> Place {
    match unmapped(ip) {
        IpAddr::V4(v4) => place_v4(v4),
        IpAddr::V6(v6) => place_v6(v6),
    }
}

/// 198.18.0.0/15 counts as public: local proxy programs hand it out for every name they carry.
fn place_v4(ip: Ipv4Addr) -> Place {
    const METADATA: &str = "a cloud metadata service";
    match ip.octets() {
        [169, 254, 169, 254] | [100, 100, 100, 200] | [168, 63, 129, 16] => Place::Forbidden(METADATA),
        [192, 0, 0, _] => Place::Forbidden(METADATA),
        [0, ..] => Place::Forbidden("an unspecified address"),
        [127, ..] => Place::Loopback,
        [169, 254, ..] => Place::Forbidden("a link-local address"),
        [10, ..] | [192, 168, ..] => Place::Private,
        [172, second, ..] if second & 0xf0 == 16 => Place::Private,
        [100, second, ..] if second & 0xc0 == 64 => Place::Private,
        [224..=239, ..] => Place::Forbidden("a multicast address"),
        [240..=255, ..] => Place::Forbidden("a broadcast or reserved address"),
        _ => Place::Public,
    }
}

fn place_v6(ip: Ipv6Addr) -> Place {
    const AWS: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    const GOOGLE: Ipv6Addr = Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254);
    if ip == AWS || ip == GOOGLE {
        return Place::Forbidden("a cloud metadata service");
    }
    if ip.is_unspecified() {
        return Place::Forbidden("an unspecified address");
    }
    if ip.is_loopback() {
        return Place::Loopback;
    }
    match ip.segments()[0] {
        first if first & 0xff00 == 0xff00 => Place::Forbidden("a multicast address"),
        first if first & 0xffc0 == 0xfe80 => Place::Forbidden("a link-local address"),
        first if first & 0xffc0 == 0xfec0 || first & 0xfe00 == 0xfc00 => Place::Private,
        0x64 if ip.segments()[1] == 0xff9b => Place::Private,
        _ => Place::Public,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the check says in one word.
    fn verdict(url: &str, allow_private: bool) -> &'static str {
        let own = ["127.0.0.1:20128".parse().unwrap(), "[::1]:20128".parse().unwrap()];
        match check_base_url(url, &Policy { allow_private, own: &own }) {
            Ok(_) => "ok",
            Err(AddressError::NotAUrl(_)) => "not a url",
            Err(AddressError::Scheme(_)) => "scheme",
            Err(AddressError::UserInfo) => "user info",
            Err(AddressError::QueryOrFragment) => "query",
            Err(AddressError::PlainHttp(_)) => "plain http",
            Err(AddressError::Private(_)) => "private",
            Err(AddressError::Forbidden { .. }) => "forbidden",
            Err(AddressError::OwnListener(_)) => "own",
        }
    }

    #[test]
    fn every_row_of_the_outbound_table_holds() {
        let rows = [
            // url, without consent, with consent to private networks
            ("https://api.openai.com/v1", "ok", "ok"),
            ("  https://api.openai.com/v1 ", "ok", "ok"),
            ("https://8.8.8.8/v1", "ok", "ok"),
            ("https://[2606:4700::1111]/v1", "ok", "ok"),
            ("http://127.0.0.1:11434/v1", "ok", "ok"),
            ("http://127.9.9.9:1/v1", "ok", "ok"),
            ("http://[::1]:11434/v1", "ok", "ok"),
            ("http://localhost:1234/v1", "ok", "ok"),
            ("http://LOCALHOST.:1234/v1", "ok", "ok"),
            ("http://models.localhost:1234/v1", "ok", "ok"),
            ("https://198.18.0.9/v1", "ok", "ok"),
            // plain http beyond loopback
            ("http://api.example.com/v1", "plain http", "ok"),
            ("http://8.8.8.8/v1", "plain http", "plain http"),
            // private ranges
            ("http://192.168.1.5:8000/v1", "private", "ok"),
            ("https://192.168.1.5/v1", "private", "ok"),
            ("https://10.0.0.1/v1", "private", "ok"),
            ("https://172.16.0.1/v1", "private", "ok"),
            ("https://172.31.255.255/v1", "private", "ok"),
            ("https://172.32.0.1/v1", "ok", "ok"),
            ("https://100.64.0.1/v1", "private", "ok"),
            ("https://[fd12::1]/v1", "private", "ok"),
            ("https://[fec0::1]/v1", "private", "ok"),
            ("https://[::ffff:10.0.0.1]/v1", "private", "ok"),
            ("https://[64:ff9b::a00:1]/v1", "private", "ok"),
            ("https://[64:ff9b:1::1]/v1", "private", "ok"),
            ("https://[2002:a00:1::]/v1", "private", "ok"),
            // always refused
            ("https://169.254.1.1/v1", "forbidden", "forbidden"),
            ("http://169.254.169.254/latest", "forbidden", "forbidden"),
            ("https://[fe80::1]/v1", "forbidden", "forbidden"),
            ("https://[fd00:ec2::254]/v1", "forbidden", "forbidden"),
            ("https://[fd20:ce::254]/v1", "forbidden", "forbidden"),
            ("https://metadata.google.internal/v1", "forbidden", "forbidden"),
            ("https://METADATA.google.internal./v1", "forbidden", "forbidden"),
            ("https://100.100.100.200/v1", "forbidden", "forbidden"),
            ("https://192.0.0.192/v1", "forbidden", "forbidden"),
            ("https://224.0.0.1/v1", "forbidden", "forbidden"),
            ("https://[ff02::1]/v1", "forbidden", "forbidden"),
            ("https://0.0.0.0/v1", "forbidden", "forbidden"),
            ("https://0.1.2.3/v1", "forbidden", "forbidden"),
            ("https://[::]/v1", "forbidden", "forbidden"),
            ("https://255.255.255.255/v1", "forbidden", "forbidden"),
            ("https://[::ffff:169.254.169.254]/v1", "forbidden", "forbidden"),
            ("https://[::169.254.169.254]/v1", "forbidden", "forbidden"),
            ("https://[64:ff9b::a9fe:a9fe]/v1", "forbidden", "forbidden"),
            ("https://[2002:a9fe:a9fe::]/v1", "forbidden", "forbidden"),
            // other spellings of the same number
            ("http://2852039166/v1", "forbidden", "forbidden"),
            ("http://0xa9fea9fe/v1", "forbidden", "forbidden"),
            ("http://0251.0376.0251.0376/v1", "forbidden", "forbidden"),
            ("http://0xA9.254.0xA9.254/v1", "forbidden", "forbidden"),
            ("http://169.254.43518/v1", "forbidden", "forbidden"),
            ("http://%31%36%39.254.169.254/v1", "forbidden", "forbidden"),
            ("http://169。254。169。254/v1", "forbidden", "forbidden"),
            ("https://3232235777/v1", "private", "ok"),
            ("http://0x7f.1:9/v1", "ok", "ok"),
            // ourselves
            ("http://127.0.0.1:20128/v1", "own", "own"),
            ("http://2130706433:20128/v1", "own", "own"),
            ("http://[::1]:20128/v1", "own", "own"),
            ("http://[::ffff:127.0.0.1]:20128/v1", "own", "own"),
            ("http://localhost:20128/v1", "own", "own"),
            ("http://127.0.0.1:20129/v1", "ok", "ok"),
            // form
            ("https://user:secret@api.example.com/v1", "user info", "user info"),
            ("https://user@api.example.com/v1", "user info", "user info"),
            ("ftp://api.example.com/v1", "scheme", "scheme"),
            ("file:///etc/passwd", "scheme", "scheme"),
            ("javascript:alert(1)", "scheme", "scheme"),
            ("https://api.example.com/v1?key=1", "query", "query"),
            ("https://api.example.com/v1#x", "query", "query"),
            ("api.example.com/v1", "not a url", "not a url"),
            ("https://", "not a url", "not a url"),
            ("https://./v1", "not a url", "not a url"),
            ("https://999.1.1.1/v1", "not a url", "not a url"),
            ("", "not a url", "not a url"),
        ];
        for (url, without, with) in rows {
            assert_eq!(verdict(url, false), without, "{url} without consent");
            assert_eq!(verdict(url, true), with, "{url} with consent");
        }
    }

    #[test]
    fn what_a_name_resolves_to_is_judged_again() {
        let own = ["0.0.0.0:20128".parse().unwrap()];
        let rows = [
            // name, address, plain http, consent, our port, allowed
            ("api.example.com", "8.8.8.8", false, false, false, true),
            ("api.example.com", "8.8.8.8", true, true, false, false),
            ("api.example.com", "10.0.0.1", false, false, false, false),
            ("nas.example.com", "10.0.0.1", true, true, false, true),
            ("api.example.com", "169.254.169.254", false, true, false, false),
            ("api.example.com", "::ffff:169.254.169.254", false, true, false, false),
            ("api.example.com", "127.0.0.1", false, false, false, false),
            ("api.example.com", "127.0.0.1", false, true, false, true),
            ("api.example.com", "127.0.0.1", false, true, true, false),
            ("localhost", "127.0.0.1", true, false, false, true),
            ("localhost", "::1", true, false, false, true),
            ("localhost", "127.0.0.1", true, false, true, false),
            ("localhost", "8.8.8.8", true, true, false, false),
        ];
        for (name, ip, plain, allow_private, our_port, allowed) in rows {
            let policy = Policy { allow_private, own: if our_port { &own } else { &[] } };
            let answer = check_resolved(name, ip.parse().unwrap(), plain, &policy);
            assert_eq!(answer.is_ok(), allowed, "{name} {ip} plain={plain} consent={allow_private}: {answer:?}");
        }
    }

    #[test]
    fn a_listener_on_all_addresses_is_found_behind_every_loopback_spelling() {
        let own = ["0.0.0.0:20128".parse().unwrap()];
        for url in ["http://127.0.0.1:20128", "http://127.1.2.3:20128", "http://[::1]:20128", "http://localhost:20128"]
        {
            let answer = check_base_url(url, &Policy { allow_private: true, own: &own });
            assert!(matches!(answer, Err(AddressError::OwnListener(_))), "{url}: {answer:?}");
        }
    }
}
