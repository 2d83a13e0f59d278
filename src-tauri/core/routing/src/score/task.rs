//! What a request is about (gateway specification, 3.5), guessed from words.
//!
//! The task whose words occur most often in the last user text wins. A text without any of them is taken for coding when
//! the request brings tools, because agents bring tools; else nothing is assumed. A wrong guess costs one factor of
//! sixteen a little, so a list of words is enough.

use std::sync::LazyLock;

use crate::view::Task;

/// Bytes of the text that are read, from its end: what is asked for tends to stand last, after pasted files.
const READ_AT_MOST: usize = 8 * 1024;

/// The words of each task, English and Italian. A tie goes to the task that stands first: the more telling one.
const WORDS: [(Task, &[&str]); 6] = [
    (
        Task::Debugging,
        &[
            "bug",
            "bugs",
            "crash",
            "crashes",
            "crashed",
            "debug",
            "debugging",
            "errore",
            "errori",
            "error",
            "errors",
            "exception",
            "fails",
            "failing",
            "fallisce",
            "fix",
            "panic",
            "segfault",
            "stacktrace",
            "traceback",
            "broken",
            "correggi",
            "regression",
            "backtrace",
        ],
    ),
    (
        Task::Review,
        &[
            "audit",
            "critique",
            "nitpick",
            "nitpicks",
            "pr",
            "review",
            "reviewer",
            "reviewing",
            "reviews",
            "revisione",
            "revisiona",
            "rivedi",
            "lgtm",
            "feedback",
        ],
    ),
    (
        Task::Documentation,
        &[
            "changelog",
            "comments",
            "docs",
            "docstring",
            "docstrings",
            "document",
            "documentation",
            "documenta",
            "documentazione",
            "guide",
            "guida",
            "javadoc",
            "manual",
            "readme",
            "rustdoc",
            "tutorial",
        ],
    ),
    (
        Task::Planning,
        &[
            "architecture",
            "architettura",
            "design",
            "milestone",
            "milestones",
            "pianifica",
            "piano",
            "plan",
            "planning",
            "plans",
            "progetta",
            "proposal",
            "roadmap",
            "strategia",
            "strategy",
            "rfc",
        ],
    ),
    (
        Task::Analysis,
        &[
            "analisi",
            "analizza",
            "analyse",
            "analysis",
            "analyze",
            "assess",
            "benchmark",
            "compare",
            "confronta",
            "evaluate",
            "explain",
            "investigate",
            "perché",
            "profile",
            "research",
            "spiega",
            "summarise",
            "summarize",
            "why",
        ],
    ),
    (
        Task::Coding,
        &[
            "add",
            "aggiungi",
            "api",
            "class",
            "code",
            "codice",
            "endpoint",
            "function",
            "funzione",
            "implement",
            "implementa",
            "implementation",
            "method",
            "migrate",
            "module",
            "refactor",
            "refactoring",
            "rename",
            "rifattorizza",
            "scrivi",
            "script",
            "sql",
            "test",
            "tests",
        ],
    ),
];

/// The same words for looking one up, by their bytes.
static BY_WORD: LazyLock<Vec<(&str, usize)>> = LazyLock::new(|| {
    let of_task = |(place, (_, words)): (usize, &(Task, &'static [&'static str]))| {
        words.iter().map(move |word| (*word, place)).collect::<Vec<_>>()
    };
    let mut by_word: Vec<(&str, usize)> = WORDS.iter().enumerate().flat_map(of_task).collect();
    by_word.sort_unstable();
    by_word
});

/// Bytes of the longest of the words.
const LONGEST: usize = 16;

/// For each first letter, a to z, the lengths of the words that begin with it, a bit each: what is none of them is most of a
/// text.
static LENGTHS: LazyLock<[u32; 26]> = LazyLock::new(|| {
    let mut lengths = [0; 26];
    for (word, _) in BY_WORD.iter() {
        lengths[usize::from(word.as_bytes()[0] - b'a')] |= 1 << word.len();
    }
    lengths
});

/// The task of a request, from its last user text and whether it brings tools.
pub fn guess(last_user_text: &str, with_tools: bool) -> Task {
    let mut counts = [0_u32; WORDS.len()];
    for word in tail(last_user_text).split(|letter: char| !letter.is_alphanumeric()) {
        if let Some(place) = place_of(word) {
            counts[place] += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or_default();
    let said = counts.iter().position(|&count| count == most && count > 0).map(|place| WORDS[place].0);
    said.unwrap_or(if with_tools { Task::Coding } else { Task::Default })
}

/// Whose word it is, in capitals or not. Most words of a text are nobody's, and are found to be so without a copy.
fn place_of(word: &str) -> Option<usize> {
    let first = word.as_bytes().first()?.to_ascii_lowercase();
    let lengths = LENGTHS.get(usize::from(first.checked_sub(b'a')?))?;
    if word.len() > LONGEST {
        return None;
    }
    if !word.is_ascii() {
        return look_up(word.to_lowercase().as_bytes());
    }
    if lengths & 1 << word.len() == 0 {
        return None;
    }
    let mut letters = [0_u8; LONGEST];
    let letters = &mut letters[..word.len()];
    letters.copy_from_slice(word.as_bytes());
    letters.make_ascii_lowercase();
    look_up(letters)
}

fn look_up(word: &[u8]) -> Option<usize> {
    let found = BY_WORD.binary_search_by(|(known, _)| known.as_bytes().cmp(word)).ok()?;
    Some(BY_WORD[found].1)
}

fn tail(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(READ_AT_MOST))..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_task_whose_words_occur_most_wins() {
        for (text, with_tools, task) in [
            ("", false, Task::Default),
            ("Hello there", false, Task::Default),
            ("Hello there", true, Task::Coding),
            ("Implement a function that sorts", false, Task::Coding),
            ("Please review this PR", true, Task::Review),
            ("Plan the roadmap for the next quarter", true, Task::Planning),
            ("Why is this slow? Analyse the profile", true, Task::Analysis),
            ("The test crashes with an error, fix it", true, Task::Debugging),
            ("Write the README and the docs", true, Task::Documentation),
            ("Analizza e spiega questo testo", false, Task::Analysis),
            ("fix the code", false, Task::Debugging),
            ("prefix and suffix", false, Task::Default),
        ] {
            assert_eq!(guess(text, with_tools), task, "{text:?}");
        }
    }

    #[test]
    fn every_word_belongs_to_one_task_and_fits() {
        for (at, (word, place)) in BY_WORD.iter().enumerate() {
            assert!(word.len() <= LONGEST, "{word}");
            assert_eq!(place_of(word), Some(*place), "{word}");
            assert_eq!(place_of(&word.to_uppercase()), Some(*place), "{word} in capitals");
            assert!(at == 0 || BY_WORD[at - 1].0 < *word, "{word} stands twice");
        }
        assert_eq!(BY_WORD.len(), WORDS.iter().map(|(_, words)| words.len()).sum::<usize>());
    }

    #[test]
    fn only_the_end_of_a_long_text_is_read() {
        let text = format!("{}{}", "error ".repeat(5_000), "à ".repeat(READ_AT_MOST));
        assert_eq!(guess(&text, false), Task::Default);
        assert_eq!(guess(&format!("{text} plan"), false), Task::Planning);
    }

    proptest! {
        #[test]
        fn any_text_has_a_task(text in "\\PC*", with_tools: bool) {
            guess(&text, with_tools);
        }
    }
}
