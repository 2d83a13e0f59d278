//! Identifiers: opaque strings, one type each, so that a key can never stand where a connection belongs.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[doc = $doc:literal] $name:ident;)+) => {$(
        #[doc = $doc]
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                $name(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                $name(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                $name(text.into())
            }
        }
    )+};
}

id! {
    /// A provider: an entry of the catalogue (`openai`) or a custom node (`openai-compatible-work`).
    ProviderId;
    /// One account at a provider.
    ConnectionId;
    /// A custom node; also the provider id of its connections.
    NodeId;
    /// A key that an agent presents to this gateway.
    ClientKeyId;
    /// One client request, start to end.
    RequestId;
    /// A user's alias for a model name.
    AliasId;
}

impl From<&NodeId> for ProviderId {
    fn from(node: &NodeId) -> Self {
        ProviderId::from(node.as_str())
    }
}
