//! Text rules for model names.

/// Whether `name` matches `glob`, in which `*` stands for any run of characters, slashes included.
pub fn glob_matches(glob: &str, name: &str) -> bool {
    let mut parts = glob.split('*');
    let Some(first) = parts.next() else { return name.is_empty() };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::glob_matches;

    #[test]
    fn a_star_stands_for_any_run() {
        for (glob, name, expected) in [
            ("gpt-4o", "gpt-4o", true),
            ("gpt-4o", "gpt-4o-mini", false),
            ("gpt-*", "gpt-4o", true),
            ("*/claude-*", "anthropic/claude-x", true),
            ("*", "", true),
            ("", "", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxc", false),
            ("*b", "ab", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(glob_matches(glob, name), expected, "{glob} ~ {name}");
        }
    }
}
