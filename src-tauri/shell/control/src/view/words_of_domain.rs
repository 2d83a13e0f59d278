//! Enumerations of the core as the edge spells them. The core derives neither bindings nor schemas, so each is mirrored
//! here once, with conversions whose exhaustive `match` fails to compile when a word is added on one side only.

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::ToSchema;

/// Mirrors an enumeration of `domain`.
macro_rules! mirror {
    ($(#[$meta:meta])* $name:ident of $source:path { $($(#[$variant_meta:meta])* $variant:ident,)+ }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
        $(#[$meta])*
        pub enum $name { $($(#[$variant_meta])* $variant,)+ }

        impl From<$source> for $name {
            fn from(value: $source) -> Self {
                use $source as Source;
                match value { $(Source::$variant => $name::$variant,)+ }
            }
        }

        impl From<$name> for $source {
            fn from(value: $name) -> Self {
                use $source as Source;
                match value { $($name::$variant => Source::$variant,)+ }
            }
        }
    };
}

mirror! {
    /// How an account proves who it is.
    #[serde(rename_all = "lowercase")]
    AuthType of domain::connection::AuthType { Oauth, Apikey, None, }
}

mirror! {
    /// A wire format.
    #[serde(rename_all = "lowercase")]
    Dialect of domain::Dialect { Chat, Responses, Messages, Gemini, }
}

mirror! {
    /// What kind of provider it is.
    #[serde(rename_all = "lowercase")]
    ProviderClass of domain::ProviderClass { Oauth, Apikey, Local, Free, }
}

mirror! {
    /// The header that carries the credential.
    #[serde(rename_all = "kebab-case")]
    AuthCarrier of domain::node::AuthCarrier { Bearer, XApiKey, XGoogApiKey, ApiKey, None, }
}

mirror! {
    /// A calendar period of the gateway's time zone: weeks begin on Monday, months on the first.
    #[serde(rename_all = "lowercase")]
    Interval of domain::key_limits::Interval { Daily, Weekly, Monthly, }
}

mirror! {
    /// What a client key may do beyond inference.
    Scope of domain::client_key::Scope {
        #[serde(rename = "lease:exclusive")]
        LeaseExclusive,
        #[serde(rename = "self:usage")]
        SelfUsage,
        #[serde(rename = "self:account-quota")]
        SelfAccountQuota,
        #[serde(rename = "policy:bypass-provider-quota")]
        BypassProviderQuota,
        #[serde(rename = "mcp:connect")]
        McpConnect,
    }
}

mirror! {
    /// How a request ended.
    #[serde(rename_all = "lowercase")]
    RequestOutcome of domain::request_log::RequestOutcome { Success, Failure, Aborted, }
}

mirror! {
    /// What left a candidate out.
    #[serde(rename_all = "snake_case")]
    Mechanism of domain::Mechanism {
        SwitchedOff,
        KeyAllowList,
        KeyLimit,
        ExcludedModel,
        CredentialGate,
        RequestExhaustion,
        ConcurrencyCap,
        AdmissionLane,
        ToolLimit,
        QuotaCutoff,
        DialectMismatch,
        CircuitBreaker,
        ProviderCooldown,
        ConnectionCooldown,
        TerminalState,
        ModelLockout,
    }
}

mirror! {
    /// What the dealings with an account so far say about it.
    #[serde(rename_all = "snake_case")]
    TestStatus of domain::health::TestStatus { Unknown, Active, Unavailable, Banned, Expired, CreditsExhausted, }
}

mirror! {
    /// How a combo chooses. `quota-share` is internal: no combo can be given it.
    #[serde(rename_all = "kebab-case")]
    Strategy of routing::Strategy {
        Priority,
        Weighted,
        RoundRobin,
        ContextRelay,
        FillFirst,
        P2c,
        Random,
        LeastUsed,
        CostOptimized,
        ResetAware,
        ResetWindow,
        Headroom,
        StrictRandom,
        Auto,
        Lkgp,
        ContextOptimized,
        CacheOptimized,
        Fusion,
        Pipeline,
        QuotaShare,
    }
}

mirror! {
    /// What a quota pool counts.
    #[serde(rename_all = "lowercase")]
    QuotaUnit of routing::quota_share::Unit { Percent, Requests, Tokens, Usd, }
}

mirror! {
    /// How long a quota pool counts.
    #[serde(rename_all = "lowercase")]
    QuotaPeriod of routing::quota_share::Window {
        #[serde(rename = "5h")]
        FiveHours,
        Hourly,
        Daily,
        Weekly,
        /// Thirty days.
        Monthly,
    }
}

mirror! {
    /// What happens at the end of a key's share once half of a pool is used.
    #[serde(rename_all = "lowercase")]
    QuotaPolicy of routing::quota_share::Policy {
        /// Refused.
        Hard,
        /// Served, and leaves room for others.
        Soft,
        /// May use what others leave.
        Burst,
    }
}
