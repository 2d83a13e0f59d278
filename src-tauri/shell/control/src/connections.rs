//! Accounts at providers: what a person sees and changes (gateway specification, 4.4 and 6.1).

use domain::connection::{AuthType, Connection};
use domain::{ConnectionId, Millis, ProviderId, RateLimitOverrides, Timestamp};
use resilience::ResetScope;
use resilience::picture::ConnectionPicture;
use secrecy::SecretString;
use store::CredentialChange;
use uuid::Uuid;

use crate::rate_limits::{self, MOST_CONCURRENT};
use crate::view::{
    self, ConnectionChange, ConnectionDetail, ConnectionDraft, ConnectionFilter, ConnectionOrder, ConnectionReply,
    Connections, Done,
};
use crate::{Control, ControlError, breakers, check, cooldowns, specific};

const LAST_PRIORITY: u32 = 1_000_000;

/// Connections by provider, then priority.
pub async fn connections_list(control: &Control, filter: ConnectionFilter) -> Result<Connections, ControlError> {
    let catalog = control.catalog();
    let class_of = |provider: &ProviderId| catalog.get(provider).map(|known| known.class.into());
    let mut connections = Vec::new();
    for entry in control.connections().iter() {
        let provider = &entry.connection.provider;
        let wanted = filter.provider.as_deref().is_none_or(|id| id == provider.as_str())
            && filter.class.is_none_or(|class| class_of(provider) == Some(class));
        if wanted {
            connections.push(view_of(control, &entry.connection));
        }
    }
    Ok(Connections { connections })
}

/// One connection, and what routing thinks of it.
pub async fn connection_get(control: &Control, id: String) -> Result<ConnectionDetail, ControlError> {
    let connection = find(control, &id)?;
    let snapshot = control.engine().snapshot();
    let picture = snapshot.connections.get(&connection.id).cloned().unwrap_or_default();
    Ok(ConnectionDetail {
        lockouts: cooldowns::of_connection(&snapshot, &connection.id, control.now()),
        breaker: breakers::brief(snapshot.breakers.get(&connection.provider)),
        in_flight: picture.in_flight,
        connection: view_with(&connection, &picture),
    })
}

/// Stores a new connection. Nothing is sent to the provider.
pub async fn connection_create(control: &Control, draft: ConnectionDraft) -> Result<ConnectionReply, ControlError> {
    let (connection, credential) = from_draft(control, draft)?;
    let stored = control.store().insert_connection(&connection, credential).await?;
    control.reload_connections().await?;
    Ok(ConnectionReply { connection: view_of(control, &stored) })
}

/// Changes a connection. A new credential clears what was held against the old one.
pub async fn connection_update(
    control: &Control,
    id: String,
    change: ConnectionChange,
) -> Result<ConnectionReply, ControlError> {
    let mut connection = find(control, &id)?;
    let expected = change.updated_at.map(view::Instant::timestamp);
    let credential = match &change.api_key {
        None => CredentialChange::Keep,
        Some(None) => CredentialChange::Clear,
        Some(Some(key)) => CredentialChange::Set(check::secret("apiKey", &key.clone().into_inner())?),
    };
    let was_active = connection.is_active;
    apply(control, &mut connection, change)?;
    // New credentials, or the owner's hand on the switch, end what was known (resilience specification, 7.1).
    let has_other_credential = !matches!(credential, CredentialChange::Keep);
    let is_new = has_other_credential || (connection.is_active && !was_active);
    let stored = control.store().update_connection(&connection, credential, expected).await?;
    if has_other_credential {
        control.engine().forget_quota(&stored.id);
        control.quota_asked().lock().remove(&stored.id);
    }
    if is_new {
        control.engine().reset(&ResetScope::Connection(stored.id.clone()));
    }
    control.reload_connections().await?;
    Ok(ConnectionReply { connection: view_of(control, &stored) })
}

/// Removes a connection. [`connection_restore`] undoes it.
pub async fn connection_delete(control: &Control, id: String) -> Result<Done, ControlError> {
    let id = ConnectionId::from(id);
    control.store().delete_connection(&id, control.now()).await?;
    control.reload_connections().await?;
    control.forget_connection(&id);
    Ok(Done::OK)
}

/// Brings a removed connection back, credential included.
pub async fn connection_restore(control: &Control, id: String) -> Result<ConnectionReply, ControlError> {
    let stored = control.store().restore_connection(&ConnectionId::from(id), control.now()).await?;
    control.reload_connections().await?;
    Ok(ConnectionReply { connection: view_of(control, &stored) })
}

/// The operator's reset: forgets what went wrong with a connection.
pub async fn connection_reset(control: &Control, id: String) -> Result<ConnectionReply, ControlError> {
    let connection = find(control, &id)?;
    control.engine().reset(&ResetScope::Connection(connection.id.clone()));
    Ok(ConnectionReply { connection: view_of(control, &connection) })
}

/// Sets the order in which the connections of one provider are asked.
pub async fn connections_order(control: &Control, order: ConnectionOrder) -> Result<Connections, ControlError> {
    let provider = ProviderId::from(order.provider.as_str());
    let ids: Vec<ConnectionId> = order.connection_ids.into_iter().map(ConnectionId::from).collect();
    control.store().reorder_connections(&provider, &ids, control.now()).await?;
    control.reload_connections().await?;
    connections_list(control, ConnectionFilter { provider: Some(order.provider), class: None }).await
}

/// The connection of that id.
pub(crate) fn find(control: &Control, id: &str) -> Result<Connection, ControlError> {
    match control.connections().get(&ConnectionId::from(id)) {
        Some(entry) => Ok(entry.connection.clone()),
        None => Err(ControlError::not_found("connection", id)),
    }
}

/// Checks a draft and fills in what it leaves to the catalogue.
pub(crate) fn from_draft(
    control: &Control,
    draft: ConnectionDraft,
) -> Result<(Connection, Option<SecretString>), ControlError> {
    let provider = ProviderId::from(draft.provider.as_str());
    let catalog = control.catalog();
    let Some(known) = catalog.get(&provider) else {
        let message = format!("there is no provider {provider}: GET /api/catalog/providers lists them");
        return Err(ControlError::invalid("provider", message));
    };
    let credential = draft.api_key.map(|key| check::secret("apiKey", &key.into_inner())).transpose()?;
    let mut connection = Connection {
        id: ConnectionId::from(Uuid::now_v7().to_string()),
        auth_type: check_auth_type(known, draft.auth_type.map(AuthType::from).unwrap_or(known.auth_type))?,
        name: check::name("name", &draft.name)?,
        priority: match draft.priority {
            Some(priority) => check::within("priority", priority, 1, LAST_PRIORITY)?,
            None => next_priority(control, &provider),
        },
        is_active: draft.is_active.unwrap_or(true),
        default_model: check::optional_text("defaultModel", draft.default_model)?,
        credential_tail: None,
        max_concurrent: check_cap(draft.max_concurrent)?,
        rate_limit_protection: draft.rate_limit_protection.unwrap_or(false),
        rate_limit_overrides: rate_limits::merge(
            &RateLimitOverrides::default(),
            draft.rate_limit_overrides.unwrap_or_default(),
        )?,
        quota_window_thresholds: rate_limits::thresholds(draft.quota_window_thresholds)?,
        excluded_models: check::texts("excludedModels", &draft.excluded_models)?,
        proxy_url: draft.proxy_url.map(|url| check::proxy_url("proxyUrl", &url)).transpose()?,
        tags: check::texts("tags", &draft.tags)?,
        specific: domain::connection::ProviderSpecific::default(),
        extra: serde_json::Map::new(),
        created_at: control.now(),
        updated_at: control.now(),
        provider,
    };
    specific::merge(control, &mut connection, &draft.provider_specific_data)?;
    Ok((connection, credential))
}

fn apply(control: &Control, connection: &mut Connection, mut change: ConnectionChange) -> Result<(), ControlError> {
    apply_limits(connection, &mut change)?;
    if let Some(name) = change.name {
        connection.name = check::name("name", &name)?;
    }
    if let Some(auth_type) = change.auth_type {
        let catalog = control.catalog();
        let Some(known) = catalog.get(&connection.provider) else {
            return Err(ControlError::invalid("authType", "the provider of this connection is gone"));
        };
        connection.auth_type = check_auth_type(known, auth_type.into())?;
    }
    if let Some(priority) = change.priority {
        connection.priority = check::within("priority", priority, 1, LAST_PRIORITY)?;
    }
    if let Some(is_active) = change.is_active {
        connection.is_active = is_active;
    }
    if let Some(model) = change.default_model {
        connection.default_model = check::optional_text("defaultModel", model)?;
    }
    if let Some(models) = change.excluded_models {
        connection.excluded_models = check::texts("excludedModels", &models.unwrap_or_default())?;
    }
    if let Some(url) = change.proxy_url {
        connection.proxy_url = changed_proxy(connection.proxy_url.take(), url)?;
    }
    if let Some(tags) = change.tags {
        connection.tags = check::texts("tags", &tags.unwrap_or_default())?;
    }
    match change.provider_specific_data {
        None => {}
        Some(Some(keys)) => specific::merge(control, connection, &keys)?,
        Some(None) => {
            connection.specific = domain::connection::ProviderSpecific::default();
            connection.extra.clear();
        }
    }
    connection.updated_at = later(control.now(), connection.updated_at);
    Ok(())
}

fn apply_limits(connection: &mut Connection, change: &mut ConnectionChange) -> Result<(), ControlError> {
    if let Some(cap) = change.max_concurrent {
        connection.max_concurrent = check_cap(cap)?;
    }
    if let Some(protection) = change.rate_limit_protection {
        connection.rate_limit_protection = protection;
    }
    match change.rate_limit_overrides.take() {
        None => {}
        Some(Some(members)) => {
            connection.rate_limit_overrides = rate_limits::merge(&connection.rate_limit_overrides, members)?;
        }
        Some(None) => connection.rate_limit_overrides = RateLimitOverrides::default(),
    }
    if let Some(thresholds) = change.quota_window_thresholds.take() {
        connection.quota_window_thresholds = rate_limits::thresholds(thresholds.unwrap_or_default())?;
    }
    Ok(())
}

/// A proxy sent back as it was shown, without its password, is the one that is stored.
fn changed_proxy(stored: Option<String>, sent: Option<String>) -> Result<Option<String>, ControlError> {
    let Some(sent) = sent else { return Ok(None) };
    match stored {
        Some(stored) if check::is_as_shown(&stored, &sent) => Ok(Some(stored)),
        Some(_) | None => check::proxy_url("proxyUrl", &sent).map(Some),
    }
}

/// A sign-in cannot be had by typing, and a provider that wants one takes nothing else.
fn check_auth_type(provider: &catalog::Provider, wanted: AuthType) -> Result<AuthType, ControlError> {
    if wanted == AuthType::Oauth && provider.auth_type != AuthType::Oauth {
        return Err(ControlError::invalid("authType", format!("{} has no sign-in", provider.name)));
    }
    Ok(wanted)
}

fn check_cap(cap: Option<u32>) -> Result<Option<u32>, ControlError> {
    cap.map(|cap| check::within("maxConcurrent", cap, 1, MOST_CONCURRENT)).transpose()
}

fn next_priority(control: &Control, provider: &ProviderId) -> u32 {
    let connections = control.connections();
    let last = connections.of_provider(provider).map(|entry| entry.connection.priority).max().unwrap_or(0);
    last.saturating_add(1).min(LAST_PRIORITY)
}

/// An instant that tells this state of a record from the one before, also within one millisecond.
pub(crate) fn later(now: Timestamp, before: Timestamp) -> Timestamp {
    now.max(before + Millis::new(1))
}

/// The record as it is shown: what is stored, and what the Engine knows about it.
pub(crate) fn view_of(control: &Control, connection: &Connection) -> view::Connection {
    view_with(connection, &control.engine().connection(&connection.id))
}

fn view_with(connection: &Connection, picture: &ConnectionPicture) -> view::Connection {
    let error = picture.last_error.as_ref();
    view::Connection {
        id: connection.id.to_string(),
        provider: connection.provider.to_string(),
        name: connection.name.clone(),
        auth_type: connection.auth_type.into(),
        priority: connection.priority,
        is_active: connection.is_active,
        email: None,
        display_name: None,
        default_model: connection.default_model.clone(),
        has_credential: connection.has_credential(),
        credential_tail: connection.credential_tail.clone(),
        token_expires_at: None,
        scopes: None,
        test_status: picture.status.into(),
        rate_limited_until: picture.cooling_until.map(view::Instant::from),
        backoff_level: picture.backoff_level,
        last_error: error.map(|error| error.message.clone()),
        last_error_type: error.and_then(|error| error.reason).map(|reason| reason.category().to_owned()),
        last_error_source: error.map(|error| if error.status.is_some() { "upstream" } else { "transport" }.to_owned()),
        error_code: error.and_then(|error| error.status),
        last_error_at: error.map(|error| error.at.into()),
        expired_retry_count: picture.expired_retry_count,
        expired_retry_at: picture.expired_retry_at.map(view::Instant::from),
        consecutive_use_count: 0,
        last_used_at: picture.last_used_at.map(view::Instant::from),
        max_concurrent: connection.max_concurrent,
        rate_limit_protection: connection.rate_limit_protection,
        rate_limit_overrides: rate_limits::view(&connection.rate_limit_overrides),
        quota_window_thresholds: connection.quota_window_thresholds.clone(),
        excluded_models: connection.excluded_models.clone(),
        proxy_url: connection.proxy_url.as_deref().map(check::masked_proxy_url),
        tags: connection.tags.clone(),
        provider_specific_data: specific::view(connection),
        created_at: connection.created_at.into(),
        updated_at: connection.updated_at.into(),
    }
}
