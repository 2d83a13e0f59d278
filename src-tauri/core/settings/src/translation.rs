//! What happens where an agent and a provider speak different dialects (gateway specification, 2).

use domain::{choice, section};

choice! {
    /// What becomes of a tool that only its own vendor runs, such as web search, where the provider does not have it.
    pub enum ForeignTools {
        /// Left out with a warning, unless the request leans on it: it forces it, or brings no other tool.
        WhenSpare = "when-spare",
        /// Always left out with a warning.
        Drop = "drop",
        /// Always refused, naming the tool.
        Refuse = "refuse",
    }
}

choice! {
    /// What becomes of marks that a provider is to cache by (`cache_control`) where a request is translated.
    pub enum CacheControlMode {
        /// The client's own; where it has none, an Anthropic provider gets those that pay off as a conversation grows.
        Auto = "auto",
        /// None.
        Off = "off",
        /// The client's own.
        Passthrough = "passthrough",
    }
}

section! {
    /// How requests become those of another dialect.
    pub struct Config {
        /// What becomes of marks that a provider is to cache by; a connection may say otherwise for itself.
        pub cache_control_mode: CacheControlMode = CacheControlMode::Auto;
        /// What becomes of a tool that only its own vendor runs, where the provider does not have it.
        pub foreign_tools: ForeignTools = ForeignTools::WhenSpare;
        /// Whether a list of tools is cut to what its provider takes. Otherwise it goes elsewhere, or is refused: an agent that
        /// misses a tool goes astray.
        pub tool_limit_truncate: bool;
    }
}
