//! What went wrong between us and the server, as precisely as the layers below know it.
//!
//! The libraries wrap their errors several times, and each layer prints only its own line ("error sending request").
//! The cause sits at the end of the chain, partly inside [`std::io::Error`] values that hide their content from
//! `source()`. This file walks the whole chain once and names the cause.

use std::error::Error as StdError;
use std::io;
use std::iter;

use domain::Reason;
use thiserror::Error;

use crate::address::AddressError;

/// Why no complete answer came. Messages never contain the URL, which may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TransportError {
    #[error("the host name could not be resolved")]
    Dns,
    #[error("the connection was refused: nothing listens at that address and port")]
    Refused,
    #[error("the network or the host cannot be reached")]
    Unreachable,
    /// Before the head of an answer: safe to say that the client has seen nothing.
    #[error("the connection was closed before an answer came")]
    Reset,
    #[error("no secure connection: {0}")]
    Tls(String),
    /// Ours: the configured connect timeout passed.
    #[error("no connection was made within the connect timeout of this gateway")]
    Timeout,
    /// After the head of an answer.
    #[error("the connection was closed in the middle of the answer")]
    BodyCut,
    /// Ours: the address rules forbid the destination. Nothing was sent.
    #[error(transparent)]
    AddressRefused(#[from] AddressError),
    #[error("the outgoing proxy failed: {0}")]
    Proxy(String),
    /// Bytes came that are not HTTP, or not of the announced encoding.
    #[error("the answer is unreadable: {0}")]
    Garbled(String),
    #[error("the request could not be sent: {0}")]
    Other(String),
}

/// What was going on when a library reported an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Until the head of the answer has come. `proxied`: the connection goes to a proxy, not to the provider.
    Head {
        proxied: bool,
    },
    Body,
}

impl TransportError {
    /// The kind of failure, for classification and for logs.
    pub const fn reason(&self) -> Reason {
        match self {
            TransportError::Dns
            | TransportError::Refused
            | TransportError::Unreachable
            | TransportError::Timeout
            | TransportError::AddressRefused(_)
            | TransportError::Proxy(_) => Reason::Unreachable,
            TransportError::Reset | TransportError::Other(_) => Reason::ConnectionReset,
            TransportError::Tls(_) => Reason::Tls,
            TransportError::BodyCut => Reason::StreamCut,
            TransportError::Garbled(_) => Reason::EmptyOrGarbled,
        }
    }

    /// Whether this gateway's own rules or settings caused it, so that the provider must not be blamed.
    pub const fn is_local(&self) -> bool {
        match self {
            TransportError::AddressRefused(_) | TransportError::Proxy(_) => true,
            TransportError::Dns
            | TransportError::Refused
            | TransportError::Unreachable
            | TransportError::Reset
            | TransportError::Tls(_)
            | TransportError::Timeout
            | TransportError::BodyCut
            | TransportError::Garbled(_)
            | TransportError::Other(_) => false,
        }
    }

    pub(crate) fn from_reqwest(error: &reqwest::Error, phase: Phase) -> TransportError {
        if let Some(refused) = find::<AddressError>(error) {
            return TransportError::AddressRefused(refused.clone());
        }
        match phase {
            Phase::Body => in_body(error),
            Phase::Head { proxied } => before_head(error, proxied),
        }
    }
}

fn before_head(error: &reqwest::Error, proxied: bool) -> TransportError {
    if let Some(tls) = find::<rustls::Error>(error) {
        return TransportError::Tls(explain_tls(tls));
    }
    if proxied && error.is_connect() {
        return TransportError::Proxy(explain_proxy(innermost(error)));
    }
    if error.is_dns() {
        return TransportError::Dns;
    }
    if let Some(kind) = io_kind(error)
        && let Some(named) = from_io(kind)
    {
        return named;
    }
    if error.is_connect() && error.is_timeout() {
        return TransportError::Timeout;
    }
    match find::<hyper::Error>(error) {
        Some(hyper) if hyper.is_parse() || hyper.is_parse_too_large() => TransportError::Garbled(hyper.to_string()),
        Some(hyper) if !hyper.is_user() => TransportError::Reset,
        Some(_) | None => TransportError::Other(innermost(error)),
    }
}

/// `is_decode` alone says nothing here: the library reports every failed body that way. A connection that ended is a cut,
/// what arrived but cannot be unpacked is garbled.
fn in_body(error: &reqwest::Error) -> TransportError {
    if find::<hyper::Error>(error).is_some_and(|hyper| hyper.is_parse()) {
        return TransportError::Garbled(innermost(error));
    }
    if find::<hyper::Error>(error).is_some() {
        return TransportError::BodyCut;
    }
    match io_kind(error) {
        Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other) => {
            TransportError::Garbled(innermost(error))
        }
        Some(_) | None => TransportError::BodyCut,
    }
}

fn from_io(kind: io::ErrorKind) -> Option<TransportError> {
    match kind {
        io::ErrorKind::ConnectionRefused => Some(TransportError::Refused),
        io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkDown
        | io::ErrorKind::AddrNotAvailable
        | io::ErrorKind::TimedOut => Some(TransportError::Unreachable),
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::NotConnected
        | io::ErrorKind::UnexpectedEof => Some(TransportError::Reset),
        _ => None,
    }
}

/// In the words of somebody who typed the address of a SOCKS proxy. The library keeps the type of these errors to itself.
fn explain_proxy(detail: String) -> String {
    match detail.strip_prefix("SOCKS error: ") {
        None => detail,
        Some("failed to create underlying connection") => "it cannot be reached, check its host and port".to_owned(),
        Some("credentials not accepted" | "server does not support user/pass authentication") => {
            "it wants a user name and password, or other ones".to_owned()
        }
        Some("server implements authentication incorrectly") => {
            "it takes no user name and password, leave them out of its address".to_owned()
        }
        Some("io error during SOCKS handshake" | "failed parsing server response") => {
            "it does not speak SOCKS5 on this port".to_owned()
        }
        Some(other) => format!("it answered: {other}"),
    }
}

/// In the words of somebody who typed a base URL.
fn explain_tls(error: &rustls::Error) -> String {
    use rustls::{CertificateError, Error, InvalidMessage};
    match error {
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the server does not speak TLS on this port, use http:// or the port for https".to_owned()
        }
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "the certificate is not signed by an authority this system trusts".to_owned()
        }
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "the certificate has expired, or the clock of this computer is wrong".to_owned()
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "the certificate belongs to another host name".to_owned(),
        other => other.to_string(),
    }
}

/// The error and all its causes, outermost first, looking into I/O errors that wrap another error.
fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    iter::successors(Some(error), |link| cause(*link))
}

fn cause<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error.downcast_ref::<io::Error>() {
        Some(io) => io.get_ref().map(|inner| inner as &(dyn StdError + 'static)),
        None => error.source(),
    }
}

fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    causes(error).find_map(|link| link.downcast_ref::<E>())
}

/// The kind of the innermost I/O error.
fn io_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    causes(error).filter_map(|link| link.downcast_ref::<io::Error>()).last().map(io::Error::kind)
}

fn innermost(error: &(dyn StdError + 'static)) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_inside_nested_io_errors_is_found() {
        let inner = io::Error::new(io::ErrorKind::InvalidData, rustls::Error::DecryptError);
        let outer = io::Error::other(io::Error::other(inner));
        assert_eq!(find::<rustls::Error>(&outer), Some(&rustls::Error::DecryptError));
        assert_eq!(io_kind(&outer), Some(io::ErrorKind::InvalidData));
    }

    #[test]
    fn every_error_has_a_reason_and_only_our_own_rules_are_local() {
        let rows = [
            (TransportError::Dns, Reason::Unreachable, false),
            (TransportError::Refused, Reason::Unreachable, false),
            (TransportError::Unreachable, Reason::Unreachable, false),
            (TransportError::Timeout, Reason::Unreachable, false),
            (TransportError::Reset, Reason::ConnectionReset, false),
            (TransportError::Tls("x".into()), Reason::Tls, false),
            (TransportError::BodyCut, Reason::StreamCut, false),
            (TransportError::Garbled("x".into()), Reason::EmptyOrGarbled, false),
            (TransportError::Other("x".into()), Reason::ConnectionReset, false),
            (TransportError::Proxy("x".into()), Reason::Unreachable, true),
            (TransportError::AddressRefused(AddressError::UserInfo), Reason::Unreachable, true),
        ];
        for (error, reason, local) in rows {
            assert_eq!((error.reason(), error.is_local()), (reason, local), "{error}");
        }
    }
}
