//! Asking a vendor what is left of an account (gateway specification, 5.2). One request; the credential goes to the origin of
//! the connection's base URL and nowhere else.

use catalog::{Provider, UsageReport};
use domain::{Clock, Millis, Quota};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Uri};
use secrecy::ExposeSecret;
use url::Url;

use super::exchange::{Session, get, within};
use super::{ProbeCode, ProbeError, verdict};
use crate::outbound_headers::{self, HeaderError};
use crate::request::BuildError;
use crate::target::Target;
use crate::transport::Transport;

/// What the vendor says is left, within `timeout`.
///
/// # Errors
///
/// When the provider has no such endpoint, it cannot be reached, it refuses, or its answer cannot be read.
pub async fn usage(
    transport: &dyn Transport,
    target: &Target,
    clock: &dyn Clock,
    timeout: Millis,
) -> Result<Quota, ProbeError> {
    let Some(form) = target.provider.usage_report else { return Err(none(&target.provider)) };
    let asking = async {
        let uri = place(target, form).map_err(|error| verdict::unbuildable(&error))?;
        let headers = headers(target, form).map_err(|error| verdict::unbuildable(&BuildError::from(error)))?;
        let answer = Session::new(transport, target).send(get(&uri, &headers)).await?;
        if !answer.is_success() {
            return Err(verdict::of_usage(target, &answer));
        }
        form.read(&answer.body, clock.now()).map_err(|error| unreadable(answer.status, error.to_string()))
    };
    match within(clock, timeout, asking).await {
        Some(outcome) => outcome,
        None => Err(verdict::late(target, timeout)),
    }
}

fn none(provider: &Provider) -> ProbeError {
    let message = format!("{} has no place that says what is left: its replies may announce it", provider.name);
    ProbeError { code: ProbeCode::InvalidConfiguration, status: None, message }
}

fn unreadable(status: u16, message: String) -> ProbeError {
    ProbeError { code: ProbeCode::InvalidRequest, status: Some(status), message }
}

fn place(target: &Target, form: UsageReport) -> Result<Uri, BuildError> {
    let unusable =
        |detail: &str| BuildError::BaseUrl { provider: target.provider.name.clone(), detail: detail.to_owned() };
    let mut url = Url::parse(target.base_url()).map_err(|error| unusable(&error.to_string()))?;
    url.set_path(form.path());
    url.set_query(None);
    url.as_str().parse().map_err(|_| unusable("it names no host"))
}

fn headers(target: &Target, form: UsageReport) -> Result<HeaderMap, HeaderError> {
    let mut headers = outbound_headers::for_target(target, target.provider.primary_dialect())?;
    if let (Some(scheme), Some(credential)) = (form.scheme(), &target.credential) {
        headers.remove("x-api-key");
        let shown = HeaderValue::try_from(format!("{scheme}{}", credential.expose_secret().trim()));
        let mut shown = shown.map_err(|_| HeaderError::Credential)?;
        shown.set_sensitive(true);
        headers.insert(AUTHORIZATION, shown);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use domain::Dialect;

    use super::*;
    use crate::testing::{provider, target};

    #[test]
    fn the_report_is_asked_for_at_the_origin_of_the_base_url() {
        for (base, form, expected) in [
            ("https://api.z.ai/api/coding/paas/v4", UsageReport::Glm, "https://api.z.ai/api/monitor/usage/quota/limit"),
            ("https://chatgpt.com/backend-api/codex", UsageReport::Codex, "https://chatgpt.com/backend-api/wham/usage"),
            ("http://127.0.0.1:9001/v1", UsageReport::Claude, "http://127.0.0.1:9001/api/oauth/usage"),
        ] {
            assert_eq!(place(&target(provider(Dialect::Chat, base)), form).unwrap(), expected);
        }
    }

    #[test]
    fn the_key_stands_behind_the_scheme_that_the_vendor_wants() {
        let target = target(provider(Dialect::Chat, "https://a.example/v1"));
        let key = target.credential.clone().unwrap();
        let shown = |form| headers(&target, form).unwrap()[AUTHORIZATION].clone();
        assert_eq!(shown(UsageReport::Glm), key.expose_secret());
        for form in [UsageReport::Deepseek, UsageReport::Kimi] {
            assert_eq!(shown(form), format!("Bearer {}", key.expose_secret()));
        }
    }
}
