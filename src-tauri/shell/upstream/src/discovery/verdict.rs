//! What an answer, or the lack of one, means for the person who set the connection up.
//!
//! Every message has two halves: what was seen, and what to do. Texts of the upstream are quoted only after
//! [`dialects::error::sanitize`] and shortened.

use dialects::error::{read, sanitize};
use domain::{Dialect, Millis};
use url::Url;

use super::answer::{Family, generated_by, is_html};
use super::exchange::Answer;
use super::{ProbeCode, ProbeError};
use crate::request::BuildError;
use crate::target::Target;
use crate::transport_error::TransportError;

/// Characters of an upstream's own words that fit in a message.
const MAX_QUOTE: usize = 240;
/// What people paste behind a base URL, although the gateway adds it.
const OPERATION_TAILS: [&str; 5] = ["/chat/completions", "/completions", "/responses", "/messages", "/models"];

pub(super) fn unbuildable(error: &BuildError) -> ProbeError {
    ProbeError { code: ProbeCode::InvalidConfiguration, status: None, message: error.to_string() }
}

pub(super) fn late(target: &Target, timeout: Millis) -> ProbeError {
    let seconds = timeout.as_retry_after_seconds();
    let server = server(target);
    let message = format!(
        "{server} accepted the connection but did not answer within {seconds} s: try again, or check what runs there"
    );
    ProbeError { code: ProbeCode::Timeout, status: None, message }
}

pub(super) fn of_transport(target: &Target, error: &TransportError) -> ProbeError {
    let server = server(target);
    let (code, message) = match error {
        TransportError::Dns => (
            ProbeCode::Dns,
            format!("the name {server} could not be resolved: check its spelling, and that this computer is online"),
        ),
        TransportError::Refused => (
            ProbeCode::Refused,
            format!("nothing listens at {server}: start the server there, or correct host and port of the base URL"),
        ),
        TransportError::Unreachable => (
            ProbeCode::Unreachable,
            format!("{server} cannot be reached: check the network, the VPN or a firewall in between"),
        ),
        TransportError::Reset | TransportError::BodyCut | TransportError::Other(_) => (
            ProbeCode::Reset,
            format!("{server} closed the connection ({error}): try again, and check http or https in the base URL"),
        ),
        TransportError::Tls(detail) => (ProbeCode::Tls, format!("no secure connection to {server}: {detail}")),
        TransportError::Timeout => (
            ProbeCode::Timeout,
            format!("{server} did not take the connection in time: check the address, the network or the firewall"),
        ),
        TransportError::Proxy(detail) => (
            ProbeCode::Proxy,
            format!("the outgoing proxy did not work ({detail}): correct or remove the proxy of this connection"),
        ),
        TransportError::AddressRefused(refused) => (ProbeCode::AddressRefused, refused.to_string()),
        TransportError::Garbled(detail) => (
            ProbeCode::WrongDialect,
            format!("{server} does not answer like a model server ({detail}): check host and port of the base URL"),
        ),
    };
    ProbeError { code, status: None, message }
}

/// Refusals of the model list that end the test: about the account, or of a server that is down.
pub(super) fn of_list(target: &Target, answer: &Answer) -> Option<ProbeError> {
    match answer.status {
        401 | 402 | 429 | 500.. => of_account(target, answer),
        _ => None,
    }
}

/// What to say when there is no list, and nothing else can be asked.
pub(super) fn no_list(target: &Target, answer: &Answer) -> ProbeError {
    if let Some(error) = of_account(target, answer) {
        return error;
    }
    if is_html(&answer.body) || (300..400).contains(&answer.status) {
        return wrong_path(target, answer);
    }
    let message =
        format!("{} has no model list {}: type the names of its models yourself", server(target), seen(answer));
    error(ProbeCode::NoModels, answer, message)
}

/// Why nobody said what is left of the account.
pub(super) fn of_usage(target: &Target, answer: &Answer) -> ProbeError {
    if let Some(error) = of_account(target, answer) {
        return error;
    }
    let message = format!("{} does not say what is left of this account {}", server(target), seen(answer));
    error(ProbeCode::InvalidRequest, answer, message)
}

/// A list without entries.
pub(super) fn empty_list(target: &Target) -> ProbeError {
    let message = format!("{} works but offers no model yet: load or pull one there first", server(target));
    ProbeError { code: ProbeCode::NoModels, status: Some(200), message }
}

/// The connection works as far as it can be told without knowing a model.
pub(super) fn model_needed(target: &Target, answer: &Answer) -> ProbeError {
    let message = format!(
        "{} answers {} but has no model list: name one of its models and test again",
        server(target),
        seen(answer)
    );
    error(ProbeCode::NoModels, answer, message)
}

/// The verdict on a short generation; `None` means it works.
///
/// `list_family` is whose form the model list had, where there was one: a hint when the path is missing.
pub(super) fn of_generation(
    target: &Target,
    dialect: Dialect,
    model: &str,
    answer: &Answer,
    list_family: Option<Family>,
) -> Option<ProbeError> {
    if let Some(error) = of_account(target, answer) {
        return Some(error);
    }
    match answer.status {
        200..300 => of_success(target, dialect, answer),
        300..400 => Some(wrong_path(target, answer)),
        404 | 405 | 410 if is_about_model(answer) => Some(model_not_found(target, model, answer)),
        404 | 405 | 410 => {
            let family = Family::of_error(&answer.body).filter(|found| *found != Family::of(dialect)).or(list_family);
            let other = family.and_then(|family| other_dialect(target, dialect, family));
            Some(
                other.map_or_else(|| wrong_path(target, answer), |label| wrong_dialect(target, dialect, label, answer)),
            )
        }
        _ => of_refusal(target, dialect, model, answer),
    }
}

/// Statuses that speak about the account or the server as a whole.
fn of_account(target: &Target, answer: &Answer) -> Option<ProbeError> {
    let name = &target.provider.name;
    let seen = seen(answer);
    let (code, message) = match answer.status {
        401 if target.credential.is_none() => {
            (ProbeCode::Unauthorized, format!("{name} wants a key {seen}: {}", key_remedy(target)))
        }
        401 => (ProbeCode::Unauthorized, format!("{name} does not accept the key {seen}: {}", key_remedy(target))),
        402 => (
            ProbeCode::NoCredit,
            format!("{name} knows the key, but the account has no credit {seen}: top it up or use another account"),
        ),
        403 => (
            ProbeCode::Forbidden,
            format!("{name} knows the key but does not allow this {seen}: check its permissions, region and plan"),
        ),
        429 => (
            ProbeCode::RateLimited,
            format!("{name} is reachable but limits this account now {seen}: wait and test again"),
        ),
        408 | 500.. => {
            (ProbeCode::ServerError, format!("{name} is reachable but has a fault of its own {seen}: try again later"))
        }
        _ => return None,
    };
    Some(error(code, answer, message))
}

fn of_success(target: &Target, dialect: Dialect, answer: &Answer) -> Option<ProbeError> {
    match generated_by(&answer.body) {
        Some(found) if found == dialect => None,
        Some(found) => Some(wrong_dialect(target, dialect, found.label(), answer)),
        None if is_html(&answer.body) => Some(wrong_path(target, answer)),
        None if Family::of_error(&answer.body).is_some() => Some(refused(target, answer)),
        None => {
            let message = format!(
                "{} answered {}, but not in the format {}: choose the type this server speaks, or correct the base URL",
                server(target),
                answer.status,
                dialect.label()
            );
            Some(error(ProbeCode::WrongDialect, answer, message))
        }
    }
}

/// 400, 422 and their like: the server read the request and did not want it.
fn of_refusal(target: &Target, dialect: Dialect, model: &str, answer: &Answer) -> Option<ProbeError> {
    let text = quote(answer).to_ascii_lowercase();
    if ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens"].iter().any(|p| text.contains(p))
    {
        return None; // It only dislikes so short an answer: key, path, dialect and model are in order.
    }
    let missing = ["not found", "not exist", "unknown", "invalid model", "not a valid model", "not supported"];
    if text.contains("model") && missing.iter().any(|phrase| text.contains(phrase)) {
        return Some(model_not_found(target, model, answer));
    }
    match Family::of_error(&answer.body) {
        Some(family @ (Family::Anthropic | Family::Gemini)) => match other_dialect(target, dialect, family) {
            Some(label) => Some(wrong_dialect(target, dialect, label, answer)),
            None => Some(refused(target, answer)),
        },
        Some(Family::OpenAi) | None => Some(refused(target, answer)),
    }
}

fn refused(target: &Target, answer: &Answer) -> ProbeError {
    let message = format!(
        "{} is reachable but refused the test request {}: try another model, or look at its documentation",
        target.provider.name,
        seen(answer)
    );
    error(ProbeCode::InvalidRequest, answer, message)
}

fn model_not_found(target: &Target, model: &str, answer: &Answer) -> ProbeError {
    let message = format!(
        "{} works but has no model {model} for this account {}: check the name, or choose one from its list",
        target.provider.name,
        seen(answer)
    );
    error(ProbeCode::ModelNotFound, answer, message)
}

fn wrong_path(target: &Target, answer: &Answer) -> ProbeError {
    let seen = match (&answer.location, is_html(&answer.body)) {
        (Some(to), _) if (300..400).contains(&answer.status) => {
            format!("redirects ({}) to {}", answer.status, shortened(&sanitize(to)))
        }
        (_, true) => format!("answers with a web page ({})", answer.status),
        (_, false) => format!("knows no such path {}", seen(answer)),
    };
    let message = format!("{} {seen}: {}", server(target), path_remedy(target));
    error(ProbeCode::WrongPath, answer, message)
}

fn wrong_dialect(target: &Target, asked: Dialect, speaks: &str, answer: &Answer) -> ProbeError {
    let message = format!(
        "{} does not speak {} here, it looks like {speaks}: choose {speaks} as the type",
        server(target),
        asked.label()
    );
    error(ProbeCode::WrongDialect, answer, message)
}

/// The dialect the server seems to speak instead, where the person can choose it: a built-in provider at its own address
/// speaks what the catalogue says, whatever its errors look like.
fn other_dialect(target: &Target, asked: Dialect, family: Family) -> Option<&'static str> {
    let adjustable = target.provider.custom || target.base_url.is_some();
    let differs = family != Family::of(asked) || asked == Dialect::Responses;
    (adjustable && differs).then(|| family.label())
}

/// Whether a "not found" is about the model and not about the path.
fn is_about_model(answer: &Answer) -> bool {
    let text = quote(answer).to_ascii_lowercase();
    let about_path = ["url", "route", "path", "cannot post"].iter().any(|word| text.contains(word));
    !is_html(&answer.body) && text.contains("model") && !about_path
}

fn key_remedy(target: &Target) -> String {
    match &target.provider.key_url {
        Some(url) => format!("create a key at {url} and store it in this connection"),
        None => "store a valid key in this connection".to_owned(),
    }
}

fn path_remedy(target: &Target) -> String {
    let base = target.base_url();
    if let Some(tail) = OPERATION_TAILS.iter().find(|tail| base.ends_with(**tail)) {
        return format!("remove {tail} from the base URL, it is added by itself");
    }
    let version = match target.provider.primary_dialect() {
        Dialect::Gemini => "v1beta",
        Dialect::Chat | Dialect::Responses | Dialect::Messages => "v1",
    };
    let last = base.rsplit('/').next().unwrap_or_default();
    let versioned = last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if versioned {
        format!("check the base URL {base}")
    } else {
        format!("check the base URL, it usually ends with the version segment, for example {base}/{version}")
    }
}

/// Host and port, as the person typed them.
fn server(target: &Target) -> String {
    let base = target.base_url();
    let Ok(url) = Url::parse(base) else { return target.provider.name.clone() };
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => target.provider.name.clone(),
    }
}

/// Status and words of an answer, in brackets.
fn seen(answer: &Answer) -> String {
    let quote = quote(answer);
    if quote.is_empty() { format!("({})", answer.status) } else { format!("({}: {quote})", answer.status) }
}

/// The upstream's own words; empty when it gave none.
fn quote(answer: &Answer) -> String {
    let words = read(answer.status, &answer.body).message;
    if words == read(answer.status, b"").message { String::new() } else { shortened(&sanitize(&words)) }
}

fn shortened(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    match text.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn error(code: ProbeCode, answer: &Answer, message: String) -> ProbeError {
    ProbeError { code, status: Some(answer.status), message }
}
