//! Names that outsiders depend on, spelt here and nowhere else.

/// Request and response headers (gateway specification, 1.6 and 1.7).
pub mod header {
    pub const VERSION: &str = "x-omniroute-version";
    pub const REQUEST_ID: &str = "x-omniroute-request-id";
    pub const X_REQUEST_ID: &str = "x-request-id";
    pub const DECISION: &str = "x-omniroute-decision";
    pub const PROVIDER: &str = "x-omniroute-provider";
    pub const MODEL: &str = "x-omniroute-model";
    pub const CONNECTION: &str = "x-omniroute-selected-connection-id";
    pub const LATENCY_MS: &str = "x-omniroute-latency-ms";
    pub const TOKENS_IN: &str = "x-omniroute-tokens-in";
    pub const TOKENS_OUT: &str = "x-omniroute-tokens-out";
    pub const RESPONSE_COST: &str = "x-omniroute-response-cost";
    pub const FALLBACK_ATTEMPTS: &str = "x-omniroute-fallback-attempts";
    pub const WARNINGS: &str = "x-omniroute-warnings";
    pub const SESSION_ID: &str = "x-omniroute-session-id";
    /// Which target stood in for which, on an answer of the last resort (resilience specification, 21.1).
    pub const EMERGENCY_FALLBACK: &str = "x-omniroute-emergency-fallback";
    pub const PROVIDER_BREAKER: &str = "x-omniroute-provider-breaker";
    pub const SHOULD_RETRY: &str = "x-should-retry";
    pub const RETRY_AFTER: &str = "retry-after";
    pub const RETRY_AFTER_SECONDS: &str = "x-omniroute-retry-after-seconds";
    pub const COMBO_POOL_SIZE: &str = "x-omniroute-combo-pool-size";
    pub const COMBO_ATTEMPTED: &str = "x-omniroute-combo-attempted";
    pub const COMBO_EXCLUDED: &str = "x-omniroute-combo-excluded";
    pub const COMBO_TERMINAL_REASON: &str = "x-omniroute-combo-terminal-reason";
    pub const RECOVERY_ACTION: &str = "x-omniroute-recovery-action";
    pub const RECOVERY_NEXT_STEP: &str = "x-omniroute-recovery-next-step";
    /// What may name a session, the strongest first (resilience specification, 9.2).
    pub const SESSION_NAMES: [&str; 9] = [
        "x-codex-session-id",
        "x-session-id",
        "x_session_id",
        "x-omniroute-session",
        "x-claude-code-session-id",
        "session-id",
        "session_id",
        "thread-id",
        "x-session-affinity",
    ];
    /// Headers with this prefix never enter from outside.
    pub const OWN_PREFIX: &str = "x-omniroute-";
}

/// What is wrong with one member of a management request, for a window that speaks another language than the message
/// (gateway specification, 6.1). In brackets: the values that go with it.
pub mod fault {
    /// An address that is none, or not of a form that can be called.
    pub const ADDRESS_FORM: &str = "address_form";
    /// Plain http over a network \[host\].
    pub const ADDRESS_PLAIN: &str = "address_plain";
    /// A private address that nobody allowed \[host\].
    pub const ADDRESS_PRIVATE: &str = "address_private";
    /// An address that is never called \[host\].
    pub const ADDRESS_REFUSED: &str = "address_refused";
    /// Something that is no credential: spaces, or more than one line.
    pub const CREDENTIAL: &str = "credential";
    /// Combos that lead to each other \[their names\].
    pub const CYCLE: &str = "cycle";
    pub const EMPTY: &str = "empty";
    /// Neither `provider/model` nor a name that is known.
    pub const MODEL_FORM: &str = "model_form";
    /// There is no such thing \[what was named\].
    pub const NOT_FOUND: &str = "not_found";
    /// \[least, most\]
    pub const OUT_OF_RANGE: &str = "out_of_range";
    /// Spaces where a name has none.
    pub const SPACES: &str = "spaces";
    /// Another one has this name.
    pub const TAKEN: &str = "taken";
    /// Combos inside each other \[how many, at most\].
    pub const TOO_DEEP: &str = "too_deep";
    /// Characters of a text \[at most\].
    pub const TOO_LONG: &str = "too_long";
    /// Entries of a list \[at most\].
    pub const TOO_MANY: &str = "too_many";
    /// Not of the kind of value that belongs there.
    pub const WRONG_KIND: &str = "wrong_kind";
}

/// Error codes made by this gateway (gateway specification, 1.8).
pub mod code {
    pub const ALL_CONNECTIONS_TERMINAL: &str = "all_connections_terminal";
    pub const ALL_TARGETS_COOLING_DOWN: &str = "all_targets_cooling_down";
    pub const ALL_TARGETS_RATE_LIMITED: &str = "all_targets_rate_limited";
    pub const CAPABILITY_MISMATCH: &str = "capability_mismatch";
    pub const COMBO_TIMEOUT: &str = "COMBO_TIMEOUT";
    pub const CONFLICT: &str = "conflict";
    pub const CONTEXT_REQUIREMENTS_EXHAUSTED: &str = "context_requirements_exhausted";
    pub const IDENTICAL_MODEL_ERROR_STREAK: &str = "IDENTICAL_MODEL_ERROR_STREAK";
    pub const MAX_ATTEMPTS: &str = "MAX_ATTEMPTS";
    pub const MODEL_COOLDOWN: &str = "model_cooldown";
    pub const PROVIDER_CIRCUIT_OPEN: &str = "provider_circuit_open";
    pub const ALL_ACCOUNTS_INACTIVE: &str = "ALL_ACCOUNTS_INACTIVE";
    pub const ALL_TARGETS_SKIPPED: &str = "ALL_TARGETS_SKIPPED";
    /// A local key has spent its budget: 402.
    pub const BUDGET_EXCEEDED: &str = "BUDGET_EXCEEDED";
    pub const BAD_GATEWAY: &str = "bad_gateway";
    pub const BAD_REQUEST: &str = "bad_request";
    /// Logged only: the client is gone and gets no answer.
    pub const CLIENT_CLOSED_REQUEST: &str = "client_closed_request";
    pub const DIALECT_NOT_SUPPORTED: &str = "dialect_not_supported";
    pub const FORBIDDEN_HOST: &str = "forbidden_host";
    pub const FORBIDDEN_ORIGIN: &str = "forbidden_origin";
    pub const GATEWAY_TIMEOUT: &str = "gateway_timeout";
    pub const INVALID_API_KEY: &str = "invalid_api_key";
    pub const INTERNAL: &str = "internal_server_error";
    pub const METHOD_NOT_ALLOWED: &str = "method_not_allowed";
    pub const MODEL_NOT_FOUND: &str = "model_not_found";
    pub const MODEL_NOT_SUPPORTED: &str = "model_not_supported";
    pub const MODEL_SHUTDOWN: &str = "model_shutdown";
    pub const NO_EXECUTABLE_TARGETS: &str = "no_executable_targets";
    pub const OVERLOADED: &str = "overloaded";
    pub const PAYMENT_REQUIRED: &str = "payment_required";
    pub const PERMISSION_DENIED: &str = "permission_denied";
    pub const RATE_LIMITED: &str = "rate_limit_exceeded";
    pub const RATE_LIMIT_EXECUTION_TIMEOUT: &str = "RATE_LIMIT_EXECUTION_TIMEOUT";
    pub const RATE_LIMIT_QUEUE_FULL: &str = "RATE_LIMIT_QUEUE_FULL";
    pub const RATE_LIMIT_QUEUE_TIMEOUT: &str = "RATE_LIMIT_QUEUE_TIMEOUT";
    pub const RATE_LIMIT_QUEUE_WEDGED: &str = "RATE_LIMIT_QUEUE_WEDGED";
    pub const REQUEST_TOO_LARGE: &str = "request_too_large";
    pub const SEMAPHORE_QUEUE_FULL: &str = "SEMAPHORE_QUEUE_FULL";
    pub const SEMAPHORE_TIMEOUT: &str = "SEMAPHORE_TIMEOUT";
    pub const SERVICE_UNAVAILABLE: &str = "service_unavailable";
    pub const STREAM_CONTENT_STALL: &str = "stream_content_stall";
    pub const STREAM_EARLY_EOF: &str = "STREAM_EARLY_EOF";
    /// A stream was given up for saying too little (resilience specification, 17.5).
    pub const STREAM_THROUGHPUT_TOO_LOW: &str = "STREAM_THROUGHPUT_TOO_LOW";
    pub const TIMEOUT: &str = "timeout";
    /// A local key has used up a limit of tokens: 429.
    pub const TOKEN_LIMIT_EXCEEDED: &str = "TOKEN_LIMIT_EXCEEDED";
    pub const TOOL_LIMIT_EXCEEDED: &str = "tool_limit_exceeded";
    pub const UNKNOWN_ENDPOINT: &str = "unknown_endpoint";
    pub const UNPROCESSABLE_ENTITY: &str = "unprocessable_entity";
    pub const UNSUPPORTED_MEDIA_TYPE: &str = "unsupported_media_type";
    pub const UPSTREAM_AUTH_FAILED: &str = "upstream_auth_failed";

    /// The code of an error that has nothing but its status. A status that the table does not know is the first of its
    /// class (RFC 9110, 15), and one that is no error's says that an upstream answered what makes no sense.
    pub const fn of_status(status: u16) -> &'static str {
        match status {
            401 => INVALID_API_KEY,
            402 => PAYMENT_REQUIRED,
            403 => PERMISSION_DENIED,
            404 => MODEL_NOT_FOUND,
            406 => MODEL_NOT_SUPPORTED,
            408 => TIMEOUT,
            409 => CONFLICT,
            410 => MODEL_SHUTDOWN,
            413 => REQUEST_TOO_LARGE,
            415 => UNSUPPORTED_MEDIA_TYPE,
            422 => UNPROCESSABLE_ENTITY,
            429 => RATE_LIMITED,
            400..500 => BAD_REQUEST,
            502 => BAD_GATEWAY,
            503 => SERVICE_UNAVAILABLE,
            504 => GATEWAY_TIMEOUT,
            529 => OVERLOADED,
            500.. => INTERNAL,
            ..400 => BAD_GATEWAY,
        }
    }
}

/// Why a candidate is left out (gateway specification, 3.7).
pub mod reason {
    pub const CIRCUIT_OPEN: &str = "circuit_open";
    pub const MODEL_LOCKOUT: &str = "model_lockout";
    pub const PROVIDER_COOLDOWN: &str = "provider_cooldown";
    pub const UNAVAILABLE: &str = "unavailable";
    pub const CONCURRENCY_CAP: &str = "concurrency_cap";
    pub const ADMISSION_LANE: &str = "admission_lane";
    pub const TOOL_LIMIT: &str = "tool_limit";
    pub const QUOTA_CUTOFF: &str = "quota_cutoff";
    pub const CREDENTIAL_GATE: &str = "credential_gate";
    pub const DIALECT_MISMATCH: &str = "dialect_mismatch";
    pub const EXCLUDED_MODEL: &str = "excluded_model";
    pub const KEY_ALLOW_LIST: &str = "key_allow_list";
    pub const TOKEN_LIMIT: &str = "token_limit";
    pub const REQUEST_EXHAUSTION: &str = "request_exhaustion";
    /// The request had made as many attempts as it may.
    pub const MAX_ATTEMPTS: &str = "max_attempts";
    /// A panel has no more seats.
    pub const PANEL_FULL: &str = "panel_full";
    pub const SWITCHED_OFF: &str = "switched_off";
}

/// Environment variables.
pub mod env {
    pub const DATA_DIR: &str = "OMNIROUTE_DATA_DIR";
    pub const MANAGEMENT_TOKEN: &str = "OMNIROUTE_MANAGEMENT_TOKEN";
    pub const URL: &str = "OMNIROUTE_URL";
    pub const SECRET_STORE: &str = "OMNIROUTE_SECRET_STORE";
    pub const LOG: &str = "OMNIROUTE_LOG";
}

/// Files of the data folder (decisions 24 and 26).
pub mod file {
    pub const DATABASE: &str = "omniroute.sqlite";
    pub const MANAGEMENT_TOKEN: &str = "management-token";
    pub const GATEWAY: &str = "gateway.json";
    pub const DATA_KEY: &str = "data.key";
    pub const LOCK: &str = "omniroute.lock";
    /// Folder of the bodies of logged requests.
    pub const BODIES: &str = "call_logs";
}

/// Beginning of every key an agent presents.
pub const CLIENT_KEY_PREFIX: &str = "sk-omni-";
/// Beginning of the management token.
pub const MANAGEMENT_TOKEN_PREFIX: &str = "omt_";
/// Bundle identifier, also the name of the data folder.
pub const BUNDLE_ID: &str = "app.omniroute.desktop";
pub const DEFAULT_PORT: u16 = 20128;

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn a_status_that_has_no_code_of_its_own_is_the_first_of_its_class() {
        for (status, expected) in [
            (400, "bad_request"),
            (401, "invalid_api_key"),
            (418, "bad_request"),
            (424, "bad_request"),
            (451, "bad_request"),
            (499, "bad_request"),
            (500, "internal_server_error"),
            (501, "internal_server_error"),
            (505, "internal_server_error"),
            (524, "internal_server_error"),
            (529, "overloaded"),
            (599, "internal_server_error"),
            (302, "bad_gateway"),
            (0, "bad_gateway"),
        ] {
            assert_eq!(code::of_status(status), expected, "{status}");
        }
    }
}
