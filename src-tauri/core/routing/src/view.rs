//! What of a request and of the hour a plan depends on.

use domain::Timestamp;

use crate::combo::Config;

/// Handed to every strategy.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub now: Timestamp,
    pub combo: &'a str,
    pub config: &'a Config,
    pub request: &'a RequestFacts,
}

/// What strategies and filters read of a request; nothing of it is content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestFacts {
    /// Prefix key of `cache-optimized`: `prompt_cache_key`, else the hash of system text, tools and first user message.
    pub cache_key: Option<String>,
    /// First 16 hexadecimal digits of the SHA-256 of the first user message (3.3.7).
    pub session: Option<String>,
    /// Execution key that served this session last; filled in where a plan knows it ([`crate::stickiness::recalled`]).
    pub session_path: Option<String>,
    pub tags: Vec<String>,
    pub needs: Needs,
    pub task: Task,
    /// Estimate of input plus requested output, tokens.
    pub estimated_tokens: u64,
    pub tool_count: u32,
    /// The conversation carries results of tools, whether or not the request offers any.
    pub tool_results: bool,
}

/// What a model must be able to do for this request (3.3.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    pub tools: bool,
    pub vision: bool,
    pub audio: bool,
    pub documents: bool,
    pub structured_output: bool,
    pub reasoning: bool,
    /// Tokens asked for.
    pub output: Option<u64>,
    /// Estimated tokens of the prompt.
    pub input: u64,
}

/// What a request is about, guessed from its last user text and its tools (3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    Coding,
    Review,
    Planning,
    Analysis,
    Debugging,
    Documentation,
    #[default]
    Default,
}
