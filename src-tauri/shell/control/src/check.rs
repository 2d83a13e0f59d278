//! Checks of what a person typed, shared by several nouns. Each says which member is wrong and what would be right.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use domain::wire::fault;
use domain::{ConnectionId, ProxyUrl};
use secrecy::{ExposeSecret, SecretString};
use upstream::address::{self, AddressError, Policy};
use url::Url;

use crate::{Control, ControlError};

const NAME_LENGTH: usize = 100;
const TEXT_LENGTH: usize = 500;
const ID_LENGTH: usize = 128;
const LIST_LENGTH: usize = 500;
const SECRET_LENGTH: usize = 16 * 1024;

/// A name for people: trimmed, not empty, one line of at most 100 characters.
pub(crate) fn name(field: &str, text: &str) -> Result<String, ControlError> {
    line(field, text, NAME_LENGTH)
}

/// One line of text of at most 500 characters: trimmed, not empty.
pub(crate) fn text(field: &str, text: &str) -> Result<String, ControlError> {
    line(field, text, TEXT_LENGTH)
}

/// The same where absence is possible.
pub(crate) fn optional_text(field: &str, value: Option<String>) -> Result<Option<String>, ControlError> {
    value.map(|value| text(field, &value)).transpose()
}

/// An id in a filter or selection: one line of at most 128 characters.
pub(crate) fn short(field: &str, text: &str) -> Result<String, ControlError> {
    line(field, text, ID_LENGTH)
}

/// A list of lines without repetition.
pub(crate) fn texts(field: &str, items: &[String]) -> Result<Vec<String>, ControlError> {
    if items.len() > LIST_LENGTH {
        return Err(too_many(field, LIST_LENGTH));
    }
    let mut checked: Vec<String> = Vec::with_capacity(items.len());
    for item in items {
        let item = text(field, item)?;
        if !checked.contains(&item) {
            checked.push(item);
        }
    }
    Ok(checked)
}

/// A credential that can travel in a header.
pub(crate) fn secret(field: &str, secret: &SecretString) -> Result<SecretString, ControlError> {
    let text = secret.expose_secret().trim();
    if text.is_empty() {
        return Err(empty(field));
    }
    if text.len() > SECRET_LENGTH || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message = "must be one line of letters, digits and signs, without spaces: was something else copied along?";
        return Err(ControlError::fault::<String>(fault::CREDENTIAL, &[], field, message));
    }
    Ok(SecretString::from(text))
}

/// A number within bounds.
pub(crate) fn within(field: &str, value: u32, min: u32, max: u32) -> Result<u32, ControlError> {
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    Err(ControlError::fault(fault::OUT_OF_RANGE, &[min, max], field, format!("must be from {min} to {max}")))
}

/// A base URL that requests may be sent to (gateway specification, 8.6). Our own listener is refused.
pub(crate) fn base_url(control: &Control, field: &str, url: &str, allow_private: bool) -> Result<Url, ControlError> {
    let own = own_addresses(control);
    let allow_private = allow_private || control.settings().network.allow_private_provider_urls;
    address::check_base_url(url.trim(), &Policy { allow_private, own: &own })
        .map_err(|error| refused_address(field, &error))
}

fn refused_address(field: &str, error: &AddressError) -> ControlError {
    let (code, host) = match error {
        AddressError::PlainHttp(host) => (fault::ADDRESS_PLAIN, Some(host)),
        AddressError::Private(host) => (fault::ADDRESS_PRIVATE, Some(host)),
        AddressError::Forbidden { address, .. } | AddressError::OwnListener(address) => {
            (fault::ADDRESS_REFUSED, Some(address))
        }
        AddressError::NotAUrl(_) | AddressError::Scheme(_) | AddressError::UserInfo | AddressError::QueryOrFragment => {
            (fault::ADDRESS_FORM, None)
        }
    };
    ControlError::fault(code, host.as_slice(), field, error.to_string())
}

/// The address of an outgoing proxy, of the form that the shared one has too.
pub(crate) fn proxy_url(field: &str, url: &str) -> Result<String, ControlError> {
    let wrong =
        || ControlError::fault::<String>(fault::ADDRESS_FORM, &[], field, format!("must be {}", ProxyUrl::FORM));
    Ok(ProxyUrl::parse(url).ok_or_else(wrong)?.expose().to_owned())
}

/// A proxy's URL without its password.
pub(crate) fn masked_proxy_url(url: &str) -> String {
    ProxyUrl::parse(url).map(|url| url.shown()).unwrap_or_default()
}

/// Whether somebody sent back a proxy's URL as it was shown.
pub(crate) fn is_as_shown(stored: &str, sent: &str) -> bool {
    ProxyUrl::parse(stored).map_or(sent.is_empty(), |stored| stored.is_shown_as(sent))
}

/// Ids of connections that exist.
pub(crate) fn connection_ids(
    control: &Control,
    field: &str,
    ids: &[String],
) -> Result<Vec<ConnectionId>, ControlError> {
    let connections = control.connections();
    texts(field, ids)?
        .into_iter()
        .map(|id| {
            let id = ConnectionId::from(id);
            match connections.get(&id) {
                Some(_) => Ok(id),
                None => {
                    let message = format!("there is no connection with the id {id}");
                    Err(ControlError::fault(fault::NOT_FOUND, &[id], field, message))
                }
            }
        })
        .collect()
}

/// Every address under which this gateway answers on this computer.
fn own_addresses(control: &Control) -> Vec<SocketAddr> {
    let Some(address) = control.address() else { return Vec::new() };
    let loopbacks = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let mut own = vec![address];
    own.extend(loopbacks.map(|ip| SocketAddr::new(ip, address.port())));
    own
}

fn line(field: &str, text: &str, longest: usize) -> Result<String, ControlError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(empty(field));
    }
    if text.chars().count() > longest || text.chars().any(char::is_control) {
        let message = format!("must be one line of at most {longest} characters");
        return Err(ControlError::fault(fault::TOO_LONG, &[longest], field, message));
    }
    Ok(text.to_owned())
}

fn empty(field: &str) -> ControlError {
    ControlError::fault::<String>(fault::EMPTY, &[], field, "must not be empty")
}

fn too_many(field: &str, most: usize) -> ControlError {
    ControlError::fault(fault::TOO_MANY, &[most], field, format!("at most {most} entries are possible"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_must_fit_in_a_header() {
        for (given, kept) in [
            ("sk-abc", Some("sk-abc")),
            ("  sk-abc\n", Some("sk-abc")),
            ("", None),
            ("   ", None),
            ("sk abc", None),
            ("sk-abc\r\nx-evil: 1", None),
            ("sk-ключ", None),
        ] {
            let checked = secret("apiKey", &SecretString::from(given));
            assert_eq!(checked.ok().map(|secret| secret.expose_secret().to_owned()).as_deref(), kept, "{given:?}");
        }
    }

    #[test]
    fn a_proxy_is_shown_without_its_password() {
        for (url, shown) in [
            ("http://proxy.example:3128", "http://proxy.example:3128"),
            ("socks5h://me@127.0.0.1:1080", "socks5h://me@127.0.0.1:1080"),
            ("socks5://me:secret@proxy.example:3128", "socks5://me@proxy.example:3128"),
        ] {
            assert_eq!(proxy_url("proxyUrl", url).as_deref(), Ok(url));
            assert_eq!(masked_proxy_url(url), shown);
        }
        for url in ["ftp://proxy.example", "proxy.example:3128", "http://proxy.example/path", "http://"] {
            let message = format!("must be {}", ProxyUrl::FORM);
            let error = ControlError::fault::<String>(fault::ADDRESS_FORM, &[], "proxyUrl", message);
            assert_eq!(proxy_url("proxyUrl", url), Err(error), "{url}");
        }
    }

    #[test]
    fn lists_are_trimmed_and_freed_of_repetition() {
        let given = ["a", " a ", "b"].map(str::to_owned);
        assert_eq!(texts("tags", &given), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert!(texts("tags", &["".to_owned()]).is_err());
        assert!(texts("tags", &vec!["x".to_owned(); LIST_LENGTH + 1]).is_err());
    }
}
