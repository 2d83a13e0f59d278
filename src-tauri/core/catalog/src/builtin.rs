//! The provider files, compiled in. A file that is added to the folder is added here.

macro_rules! files {
    ($($name:literal,)+) => {
        &[$(($name, include_str!(concat!("../data/providers/", $name, ".toml")))),+]
    };
}

/// Name without extension, and text.
pub(crate) const FILES: &[(&str, &str)] = files![
    "agentrouter",
    "alibaba",
    "anthropic",
    "bailian-coding-plan",
    "cerebras",
    "claude",
    "cloudflare-ai",
    "codex",
    "deepseek",
    "fireworks",
    "gemini",
    "github-models",
    "glm",
    "glm-cn",
    "groq",
    "kimi-coding-apikey",
    "llama-cpp",
    "lmstudio",
    "minimax",
    "minimax-cn",
    "minimax-passthrough",
    "mistral",
    "moonshot",
    "nvidia",
    "ollama",
    "openai",
    "opencode",
    "opencode-cli",
    "opencode-go",
    "opencode-zen",
    "openrouter",
    "together",
    "vllm",
    "xai",
    "zai",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::FILES;

    #[test]
    fn every_file_of_the_folder_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/providers");
        let entries = std::fs::read_dir(folder).expect("the folder of provider files");
        let found: BTreeSet<_> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a UTF-8 name")).collect();
        let listed: BTreeSet<_> = FILES.iter().map(|(name, _)| format!("{name}.toml")).collect();
        assert_eq!(found, listed);
    }
}
