//! Words that say an account is closed for good (resilience specification, 7.2).
//!
//! The strongest verdict there is, so its list is short and literal: a broad word here bans a healthy account. What the
//! owner can act on at once ("verify your account to continue") and every talk of rate limits is no ban.

/// Longest phrase an operator may add, in characters.
pub const LONGEST_SIGNAL: usize = 200;

const SIGNALS: [&str; 7] = [
    "account_deactivated",
    "account has been deactivated",
    "account has been disabled",
    "your account has been suspended",
    "this account is deactivated",
    "this service has been disabled in this account for violation",
    "this service has been disabled in this account",
];

/// Whether a text, in any case, holds a built-in phrase or one of the operator's.
pub fn is_ban(text: &str, own: &[String]) -> bool {
    let text = text.to_lowercase();
    let mut own = own.iter().map(|signal| signal.trim().to_lowercase()).filter(|signal| !signal.is_empty());
    SIGNALS.iter().any(|signal| text.contains(signal)) || own.any(|signal| text.contains(&signal))
}

/// The operator's phrases as they are used: trimmed, without blank ones.
///
/// # Errors
///
/// The first phrase that is longer than [`LONGEST_SIGNAL`].
pub fn signals(own: &[String]) -> Result<Vec<String>, &String> {
    if let Some(long) = own.iter().find(|signal| signal.trim().chars().count() > LONGEST_SIGNAL) {
        return Err(long);
    }
    Ok(own.iter().map(|signal| signal.trim().to_owned()).filter(|signal| !signal.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_phrases_are_found_in_any_case_and_others_are_not() {
        for signal in SIGNALS {
            assert!(is_ban(&format!("Error: {}!", signal.to_uppercase()), &[]), "{signal}"); // TS-01
        }
        for text in ["", "rate limit reached", "429 too many requests", "Verify your account to continue", "account"] {
            assert!(!is_ban(text, &[]), "{text}"); // TS-07
        }
    }

    #[test]
    fn own_phrases_add_to_the_list() {
        let own = ["  Frozen by Compliance ".to_owned(), " ".to_owned()];
        assert!(is_ban("account FROZEN BY compliance", &own)); // TS-05
        assert!(is_ban("account_deactivated", &own));
        assert!(!is_ban("account is fine", &own));
        assert_eq!(signals(&own), Ok(vec!["Frozen by Compliance".to_owned()]));
        assert_eq!(signals(&["x".repeat(200)]), Ok(vec!["x".repeat(200)]));
        assert_eq!(signals(&["x".repeat(201)]), Err(&"x".repeat(201)));
    }
}
