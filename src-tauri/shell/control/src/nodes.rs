//! Custom providers (gateway specification, 4.2).

use std::collections::BTreeMap;
use std::net::IpAddr;

use domain::node::{AuthCarrier, CustomNode};
use domain::{Dialect, NodeId, ProviderClass};
use http::{HeaderName, HeaderValue};
use url::{Host, Url};

use crate::connections::later;
use crate::view::{self, Done, NodeChange, NodeDraft, NodeReply, Nodes};
use crate::{Control, ControlError, check};

const PREFIX_LENGTH: usize = 40;
const MOST_HEADERS: usize = 50;

/// Headers that belong to the connection or to the credential.
const RESERVED_HEADERS: [&str; 14] = [
    "host",
    "content-length",
    "content-type",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "accept-encoding",
];

/// Custom providers, by name.
pub async fn nodes_list(control: &Control) -> Result<Nodes, ControlError> {
    let nodes = control.store().list_nodes().await?;
    Ok(Nodes { nodes: nodes.into_iter().map(view_of).collect() })
}

/// One custom provider.
pub async fn node_get(control: &Control, id: String) -> Result<NodeReply, ControlError> {
    Ok(NodeReply { node: view_of(find(control, &id).await?) })
}

/// Adds a custom provider. Its address is checked, not called.
pub async fn node_create(control: &Control, draft: NodeDraft) -> Result<NodeReply, ControlError> {
    let prefix = check_prefix(control, &draft.prefix)?;
    let api_type = Dialect::from(draft.api_type);
    check_family(api_type, draft.family.as_deref())?;
    let url = check::base_url(control, "baseUrl", &draft.base_url, draft.allow_private_network)?;
    let node = CustomNode {
        id: CustomNode::id_for(api_type, &prefix),
        name: check::name("name", &draft.name)?,
        base_url: trimmed(&draft.base_url),
        auth_carrier: draft.auth_carrier.map_or_else(|| default_carrier(api_type), AuthCarrier::from),
        extra_headers: check_headers(draft.extra_headers)?,
        models_path: check_models_path(draft.models_path)?,
        allow_private_network: draft.allow_private_network,
        provider_class: check_class(draft.provider_class)?.unwrap_or_else(|| default_class(&url)),
        created_at: control.now(),
        updated_at: control.now(),
        api_type,
        prefix,
    };
    control.store().insert_node(&node).await?;
    control.reload_nodes().await?;
    Ok(NodeReply { node: view_of(node) })
}

/// Changes a custom provider.
pub async fn node_update(control: &Control, id: String, change: NodeChange) -> Result<NodeReply, ControlError> {
    let mut node = find(control, &id).await?;
    let expected = change.updated_at.map(view::Instant::timestamp);
    apply(control, &mut node, change)?;
    control.store().update_node(&node, expected).await?;
    control.reload_nodes().await?;
    Ok(NodeReply { node: view_of(node) })
}

/// Removes a custom provider that no connection uses.
pub async fn node_delete(control: &Control, id: String) -> Result<Done, ControlError> {
    control.store().delete_node(&NodeId::from(id)).await?;
    control.reload_nodes().await?;
    Ok(Done::OK)
}

pub(crate) async fn find(control: &Control, id: &str) -> Result<CustomNode, ControlError> {
    let found = control.store().get_node(&NodeId::from(id)).await?;
    found.ok_or_else(|| ControlError::not_found("node", id))
}

fn apply(control: &Control, node: &mut CustomNode, change: NodeChange) -> Result<(), ControlError> {
    if let Some(name) = change.name {
        node.name = check::name("name", &name)?;
    }
    if let Some(allow) = change.allow_private_network {
        node.allow_private_network = allow;
    }
    if let Some(url) = change.base_url {
        node.base_url = trimmed(&url);
    }
    let url = check::base_url(control, "baseUrl", &node.base_url, node.allow_private_network)?;
    if let Some(carrier) = change.auth_carrier {
        node.auth_carrier = carrier.map_or_else(|| default_carrier(node.api_type), AuthCarrier::from);
    }
    if let Some(headers) = change.extra_headers {
        node.extra_headers = check_headers(headers.unwrap_or_default())?;
    }
    if let Some(path) = change.models_path {
        node.models_path = check_models_path(path)?;
    }
    if let Some(class) = change.provider_class {
        node.provider_class = check_class(class)?.unwrap_or_else(|| default_class(&url));
    }
    node.updated_at = later(control.now(), node.updated_at);
    Ok(())
}

fn check_prefix(control: &Control, prefix: &str) -> Result<String, ControlError> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let well_formed = !prefix.is_empty()
        && prefix.len() <= PREFIX_LENGTH
        && prefix.bytes().all(allowed)
        && !prefix.starts_with('-')
        && !prefix.ends_with('-');
    if !well_formed {
        let message = format!("must be 1 to {PREFIX_LENGTH} lower-case letters, digits and inner hyphens");
        return Err(ControlError::invalid("prefix", message));
    }
    match control.catalog().by_name(prefix) {
        Some(taken) if taken.custom => {
            Err(ControlError::conflict(format!("the prefix {prefix} is taken by {}", taken.name)))
        }
        Some(taken) => {
            let message = format!("{prefix} already means {}: choose another", taken.name);
            Err(ControlError::invalid("prefix", message))
        }
        None => Ok(prefix.to_owned()),
    }
}

fn family(api_type: Dialect) -> &'static str {
    match api_type {
        Dialect::Chat | Dialect::Responses => "openai-compatible",
        Dialect::Messages => "anthropic-compatible",
        Dialect::Gemini => "gemini-compatible",
    }
}

fn check_family(api_type: Dialect, stated: Option<&str>) -> Result<(), ControlError> {
    match stated {
        Some(stated) if stated != family(api_type) => {
            let message = format!("apiType {api_type} belongs to {}", family(api_type));
            Err(ControlError::invalid("type", message))
        }
        Some(_) | None => Ok(()),
    }
}

/// A node is paid by use or runs nearby; the other classes belong to built-in providers.
fn check_class(class: Option<view::ProviderClass>) -> Result<Option<ProviderClass>, ControlError> {
    match class.map(ProviderClass::from) {
        Some(ProviderClass::Oauth | ProviderClass::Free) => {
            Err(ControlError::invalid("providerClass", "must be apikey or local"))
        }
        class @ (Some(ProviderClass::Apikey | ProviderClass::Local) | None) => Ok(class),
    }
}

fn default_class(url: &Url) -> ProviderClass {
    let near = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback() || ip.is_private(),
        Some(Host::Ipv6(ip)) => {
            let ip = IpAddr::V6(ip).to_canonical();
            ip.is_loopback()
                || matches!(ip, IpAddr::V6(ip) if ip.is_unique_local())
                || matches!(ip, IpAddr::V4(ip) if ip.is_private())
        }
        None => false,
    };
    if near { ProviderClass::Local } else { ProviderClass::Apikey }
}

const fn default_carrier(api_type: Dialect) -> AuthCarrier {
    match api_type {
        Dialect::Chat | Dialect::Responses => AuthCarrier::Bearer,
        Dialect::Messages => AuthCarrier::XApiKey,
        Dialect::Gemini => AuthCarrier::XGoogApiKey,
    }
}

fn check_headers(headers: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, ControlError> {
    if headers.len() > MOST_HEADERS {
        return Err(ControlError::invalid("extraHeaders", format!("at most {MOST_HEADERS} headers are possible")));
    }
    let mut checked = BTreeMap::new();
    for (name, value) in headers {
        let field = format!("extraHeaders.{name}");
        let lower = name.to_ascii_lowercase();
        let known = HeaderName::from_bytes(lower.as_bytes()).is_ok() && HeaderValue::from_str(&value).is_ok();
        if !known {
            return Err(ControlError::invalid(field, "is not a header that can be sent"));
        }
        if RESERVED_HEADERS.contains(&lower.as_str()) || lower.starts_with(domain::wire::header::OWN_PREFIX) {
            return Err(ControlError::invalid(field, "is set by the gateway itself"));
        }
        checked.insert(lower, value);
    }
    Ok(checked)
}

/// A path below the base URL, never another address.
fn check_models_path(path: Option<String>) -> Result<Option<String>, ControlError> {
    let Some(path) = check::optional_text("modelsPath", path)? else { return Ok(None) };
    let plain = path.starts_with('/')
        && !path.starts_with("//")
        && !path.split('/').any(|segment| segment == "..")
        && !path.contains([' ', '\\', '#']);
    if !plain {
        return Err(ControlError::invalid("modelsPath", "must be a path below the base URL such as /models"));
    }
    Ok(Some(path))
}

fn trimmed(url: &str) -> String {
    url.trim().trim_end_matches('/').to_owned()
}

fn view_of(node: CustomNode) -> view::Node {
    view::Node {
        id: node.id.to_string(),
        name: node.name,
        prefix: node.prefix,
        api_type: node.api_type.into(),
        family: family(node.api_type).to_owned(),
        base_url: node.base_url,
        auth_carrier: node.auth_carrier.into(),
        extra_headers: node.extra_headers,
        models_path: node.models_path,
        allow_private_network: node.allow_private_network,
        provider_class: node.provider_class.into(),
        created_at: node.created_at.into(),
        updated_at: node.updated_at.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_nearby_is_local() {
        for (url, class) in [
            ("http://127.0.0.1:9001/v1", ProviderClass::Local),
            ("http://localhost:9001/v1", ProviderClass::Local),
            ("http://[::1]:9001/v1", ProviderClass::Local),
            ("https://192.168.1.9/v1", ProviderClass::Local),
            ("https://api.example.com/v1", ProviderClass::Apikey),
            ("https://8.8.8.8/v1", ProviderClass::Apikey),
        ] {
            assert_eq!(default_class(&url.parse().expect("a URL")), class, "{url}");
        }
    }

    #[test]
    fn headers_of_the_connection_cannot_be_added() {
        for (name, value, accepted) in [
            ("X-Team", "blue", true),
            ("Host", "evil.example", false),
            ("transfer-encoding", "chunked", false),
            ("x-omniroute-model", "m", false),
            ("x bad", "v", false),
            ("x-ok", "a\r\nb: c", false),
        ] {
            let headers = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            assert_eq!(check_headers(headers).is_ok(), accepted, "{name}");
        }
    }

    #[test]
    fn the_path_of_the_model_list_stays_below_the_base_url() {
        for (path, accepted) in [
            ("/models", true),
            ("/api/tags?x=1", true),
            ("models", false),
            ("//evil.example/models", false),
            ("/../admin", false),
            ("https://evil.example/models", false),
        ] {
            assert_eq!(check_models_path(Some(path.to_owned())).is_ok(), accepted, "{path}");
        }
    }
}
