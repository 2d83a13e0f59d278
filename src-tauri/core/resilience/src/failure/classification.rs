//! Status and text to [`Reason`] (resilience specification, 6).

use domain::Reason;

/// What kind of failure an HTTP error is. `code` is the machine-readable code of the body, where there was one.
pub fn of(status: u16, code: Option<&str>, message: &str) -> Reason {
    if matches!(code, Some("insufficient_quota" | "quota_exceeded" | "billing_hard_limit_reached")) {
        return Reason::QuotaExhausted;
    }
    if matches!(code, Some("model_not_found" | "not_found_error")) {
        return Reason::ModelNotFound;
    }
    match status {
        401 | 403 => Reason::Auth,
        402 => Reason::QuotaExhausted,
        404 | 410 => Reason::ModelNotFound,
        429 => Reason::RateLimit,
        529 => Reason::Overloaded,
        503 if contains_ignoring_case(message, "overloaded") => Reason::Overloaded,
        408 | 500..=599 => Reason::ServerError,
        _ => Reason::InvalidRequest,
    }
}

fn contains_ignoring_case(text: &str, needle: &str) -> bool {
    text.as_bytes().windows(needle.len()).any(|window| window.eq_ignore_ascii_case(needle.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_and_codes() {
        for (status, code, message, expected) in [
            (401, None, "", Reason::Auth),
            (403, None, "", Reason::Auth),
            (402, None, "", Reason::QuotaExhausted),
            (429, None, "", Reason::RateLimit),
            (429, Some("insufficient_quota"), "", Reason::QuotaExhausted),
            (404, None, "", Reason::ModelNotFound),
            (400, Some("model_not_found"), "", Reason::ModelNotFound),
            (500, None, "", Reason::ServerError),
            (524, None, "", Reason::ServerError),
            (503, None, "The model is Overloaded", Reason::Overloaded),
            (529, None, "", Reason::Overloaded),
            (400, None, "", Reason::InvalidRequest),
            (418, None, "", Reason::InvalidRequest),
        ] {
            assert_eq!(of(status, code, message), expected, "{status} {code:?} {message}");
        }
    }
}
