//! How a provider is reached, which decides its resilience profile (resilience specification, 0.3).

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderClass {
    /// A subscription account, signed in.
    Oauth,
    /// A key, paid by use.
    Apikey,
    /// A server on this computer or network.
    Local,
    /// A public endpoint without an account.
    Free,
}

impl ProviderClass {
    pub const fn as_str(self) -> &'static str {
        match self {
            ProviderClass::Oauth => "oauth",
            ProviderClass::Apikey => "apikey",
            ProviderClass::Local => "local",
            ProviderClass::Free => "free",
        }
    }
}
