//! What may be said of an upstream's text outside this process (gateway specification, 1.8).
//!
//! One pass from left to right. At each place where a word can begin, each pattern is asked once whether it matches
//! there; what matches is replaced, the rest copied. False alarms cost a word of a message, misses cost a secret, so
//! patterns are wide, except where agents need the word: URLs keep their host and path, model and request names stay.

/// Bound of a sanitised text, in characters.
pub const MAX_CHARACTERS: usize = 4096;

const SECRET: &str = "<redacted>";
const PATH: &str = "<path>";

/// The first line of `text`, without file paths, keys, tokens, data URLs and e-mail addresses, at most
/// [`MAX_CHARACTERS`] characters long.
pub fn sanitize(text: &str) -> String {
    let line = text.trim_start().split(['\n', '\r']).next().unwrap_or_default().trim_end();
    let bound = line.char_indices().nth(4 * MAX_CHARACTERS).map_or(line.len(), |(at, _)| at);
    let clean = redact(&line[..bound]);
    match clean.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => clean[..end].to_owned(),
        None => clean,
    }
}

fn redact(line: &str) -> String {
    let mut clean = replaced(line, matching);
    clean.retain(|character| !character.is_control());
    clean
}

/// A text of any length, whole, without what opens something or names somebody: keys, tokens, passwords, private keys, the
/// name before an e-mail address, the user's name in a home folder (gateway specification, 8.5). Unlike [`sanitize`] it leaves
/// what a conversation is made of: paths, numbers, lines.
pub fn without_secrets(text: &str) -> String {
    replaced(text, |rest| {
        pem_block(rest)
            .or_else(|| scheme_token(rest))
            .or_else(|| assignment(rest))
            .or_else(|| known_key(rest))
            .or_else(|| masked_email(rest))
            .or_else(|| home(rest))
    })
}

/// The text with another one wherever a word begins and `matching` says so.
fn replaced(text: &str, matching: impl Fn(&str) -> Option<Match>) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let begins_word = !text[..at].chars().next_back().is_some_and(is_word);
        if begins_word && let Some((length, replacement)) = matching(rest) {
            clean.push_str(&replacement);
            at += length.max(1);
            continue;
        }
        let Some(character) = rest.chars().next() else { break };
        clean.push(character);
        at += character.len_utf8();
    }
    clean
}

/// What a pattern at the start of a text covers, and what stands there instead.
type Match = (usize, String);

fn matching(rest: &str) -> Option<Match> {
    url(rest)
        .or_else(|| data_url(rest))
        .or_else(|| pem(rest))
        .or_else(|| scheme_token(rest))
        .or_else(|| assignment(rest))
        .or_else(|| known_key(rest))
        .or_else(|| email(rest))
        .or_else(|| file_path(rest))
        .or_else(|| random_text(rest))
}

/// Copies `scheme://host/path` untouched, so that its path is not taken for a file; credentials in it go. The query is
/// left to the other patterns.
fn url(rest: &str) -> Option<Match> {
    let (scheme, after) =
        rest.split_at(run(rest, |character| character.is_ascii_alphanumeric() || "+-.".contains(character)));
    let after = after.strip_prefix("://").filter(|_| !scheme.is_empty())?;
    let length = run(after, |character| !ends_token(character) && character != '?' && character != '#');
    if scheme.eq_ignore_ascii_case("file") {
        return Some((scheme.len() + 3 + length, PATH.to_owned()));
    }
    let address = &after[..length];
    let authority = run(address, |character| character != '/');
    let address = match address[..authority].rfind('@') {
        Some(sign) => format!("{SECRET}{}", &address[sign..]),
        None => address.to_owned(),
    };
    Some((scheme.len() + 3 + length, format!("{scheme}://{address}")))
}

fn data_url(rest: &str) -> Option<Match> {
    strip_prefix_ignoring_case(rest, "data:")?;
    let length = run(rest, |character| !ends_token(character));
    let head = &rest[..length.min(rest.len())];
    (head.contains(";base64,") || head.contains('/') && head.contains(',')).then(|| (length, "<data>".to_owned()))
}

fn pem(rest: &str) -> Option<Match> {
    rest.starts_with("-----BEGIN").then(|| (rest.len(), SECRET.to_owned()))
}

/// One block, to the end of its last line.
fn pem_block(rest: &str) -> Option<Match> {
    pem(rest)?;
    let end = rest.find("-----END").map_or(rest.len(), |end| {
        let line = &rest[end..];
        end + line.find(['\n', '\r']).or_else(|| line.find("\\n")).unwrap_or(line.len())
    });
    Some((end, SECRET.to_owned()))
}

/// `Bearer …`, `Basic …`.
fn scheme_token(rest: &str) -> Option<Match> {
    ["Bearer", "Basic"].iter().find_map(|scheme| {
        let after = strip_prefix_ignoring_case(rest, scheme)?;
        let space = run(after, |character| character == ' ');
        let token = run(&after[space..], is_token);
        (space > 0 && token >= 8).then(|| (scheme.len() + space + token, format!("{} {SECRET}", &rest[..scheme.len()])))
    })
}

/// `key=…` in queries and assignments; `"api_key": "…"` and its like also with a colon.
fn assignment(rest: &str) -> Option<Match> {
    const ALWAYS: [&str; 14] = [
        "api_key",
        "apikey",
        "api-key",
        "x-api-key",
        "x-goog-api-key",
        "access_token",
        "refresh_token",
        "id_token",
        "password",
        "passwd",
        "secret",
        "client_secret",
        "authorization",
        "cookie",
    ];
    const WITH_EQUALS: [&str; 4] = ["key", "token", "code", "state"];
    let name_length = run(rest, |character| character.is_ascii_alphanumeric() || character == '_' || character == '-');
    let name = rest[..name_length].to_ascii_lowercase();
    let after = &rest[name_length..];
    let sign_length = run(after, |character| "\"' :=".contains(character));
    let sign = &after[..sign_length];
    let is_secret = ALWAYS.contains(&name.as_str()) && sign.contains([':', '='])
        || WITH_EQUALS.contains(&name.as_str()) && sign == "=";
    let value = run(&after[sign_length..], |character| !ends_token(character) && !"&,;".contains(character));
    // `Authorization: Bearer …` is the scheme's to replace.
    let is_scheme = ["bearer", "basic"].contains(&after[sign_length..][..value].to_ascii_lowercase().as_str());
    let covered = name_length + sign_length;
    (is_secret && value >= 4 && !is_scheme).then(|| (covered + value, format!("{}{SECRET}", &rest[..covered])))
}

/// Keys and tokens that vendors mark with a prefix.
fn known_key(rest: &str) -> Option<Match> {
    const PREFIXES: [&str; 30] = [
        "sk-",
        "sk_",
        "pk-",
        "rk_",
        "AIza",
        "ghp_",
        "gho_",
        "ghs_",
        "ghu_",
        "ghr_",
        "github_pat_",
        "glpat-",
        "ya29.",
        "xai-",
        "gsk_",
        "eyJ",
        "hf_",
        "r8_",
        "nvapi-",
        "pplx-",
        "fw_",
        "csk-",
        "tgp_",
        "AKIA",
        "ASIA",
        "xoxb-",
        "xoxp-",
        "omt_",
        "vlo_",
        "AQ.",
    ];
    let prefix = PREFIXES.iter().find(|prefix| rest.starts_with(**prefix))?;
    let length = run(rest, is_token);
    let kept = rest[..length].trim_end_matches(['.', ',', '=']).len();
    // Masked keys (`sk-abc***xyz`) count like whole ones.
    (kept >= prefix.len() + 6).then(|| (kept, SECRET.to_owned()))
}

fn email(rest: &str) -> Option<Match> {
    let local = run(rest, |character| character.is_ascii_alphanumeric() || "._%+-".contains(character));
    let domain = rest[local..].strip_prefix('@')?;
    let length = run(domain, |character| character.is_ascii_alphanumeric() || ".-".contains(character));
    let domain = domain[..length].trim_end_matches(['.', '-']);
    (local > 0 && domain.contains('.')).then(|| (local + 1 + domain.len(), "<email>".to_owned()))
}

/// An address of which the first letter and the domain stay.
fn masked_email(rest: &str) -> Option<Match> {
    let (length, _) = email(rest)?;
    let domain = rest[..length].split_once('@')?.1;
    let first = rest.chars().next().filter(char::is_ascii)?;
    Some((length, format!("{first}…@{domain}")))
}

/// A home folder, by whose name its owner is known.
fn home(rest: &str) -> Option<Match> {
    let roots = ["/home/", "/Users/"].iter().find_map(|root| Some((root.len(), rest.strip_prefix(root)?)));
    let (root, after) = roots?;
    let name = run(after, |character| character.is_ascii_alphanumeric() || "._-".contains(character));
    (name > 0).then(|| (root + name, "~".to_owned()))
}

/// Paths under the usual roots, home paths, Windows and network paths, and any absolute path to a source file. Paths of
/// this and other HTTP APIs (`/v1/…`) stay.
fn file_path(rest: &str) -> Option<Match> {
    const ROOTS: [&str; 27] = [
        "/home/",
        "/Users/",
        "/root/",
        "/usr/",
        "/var/",
        "/etc/",
        "/opt/",
        "/tmp/",
        "/private/",
        "/mnt/",
        "/media/",
        "/srv/",
        "/app/",
        "/data/",
        "/workspace/",
        "/workspaces/",
        "/proc/",
        "/sys/",
        "/lib/",
        "/Library/",
        "/Applications/",
        "/System/",
        "/Volumes/",
        "/nix/",
        "/run/",
        "/dev/",
        "/build/",
    ];
    const SOURCES: [&str; 14] =
        [".py", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".rs", ".go", ".java", ".rb", ".php", ".json", ".log", ".sqlite"];
    let length = run(rest, |character| !ends_token(character) && character != ',' && character != ';');
    let token = &rest[..length];
    let bytes = token.as_bytes();
    let is_windows =
        matches!(bytes, [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic()) || token.starts_with("\\\\");
    let file = token.trim_end_matches(|character: char| character.is_ascii_digit() || character == ':');
    let is_source = token.starts_with('/') && SOURCES.iter().any(|source| file.ends_with(source));
    let is_path =
        is_windows || token.starts_with("~/") || is_source || ROOTS.iter().any(|root| token.starts_with(root));
    let kept = token.trim_end_matches(['.', ':']).len();
    is_path.then(|| (kept, PATH.to_owned()))
}

/// A long unbroken run of letters and digits: nothing a person would write.
fn random_text(rest: &str) -> Option<Match> {
    let length = run(rest, |character| character.is_ascii_alphanumeric() || "-_+/=".contains(character));
    let is_random = rest[..length].split(['-', '_', '+', '/', '=']).any(|segment| {
        let has = |test: fn(&u8) -> bool| segment.as_bytes().iter().any(test);
        segment.len() >= 28 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
    });
    is_random.then(|| (length, SECRET.to_owned()))
}

/// Length of the run at the start of `text` in which every character passes `test`.
fn run(text: &str, test: impl Fn(char) -> bool) -> usize {
    text.find(|character| !test(character)).unwrap_or(text.len())
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || "_-./\\~@%+".contains(character)
}

fn is_token(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-_.~+/=*…".contains(character)
}

fn ends_token(character: char) -> bool {
    character.is_whitespace() || "\"'`<>()[]{}|".contains(character)
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_paths_and_people_go() {
        for (text, expected) in [
            (
                "Incorrect API key provided: sk-proj-abcd1234efgh. See docs",
                "Incorrect API key provided: <redacted>. See docs",
            ),
            ("key sk-ant-api03-AbC_dEf-123456 is bad", "key <redacted> is bad"),
            ("masked sk-abc*********wxyz", "masked <redacted>"),
            ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "<redacted>"),
            ("token ghp_0123456789abcdef and gsk_0123456789", "token <redacted> and <redacted>"),
            ("(eyJhbGciOi.eyJzdWIi.c2lnbmF0dXJl)", "(<redacted>)"),
            ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer <redacted>"),
            ("bad header authorization: bearer abc.def-ghi", "bad header authorization: bearer <redacted>"),
            (
                "GET https://u:p@host.example/v1/x?key=abcd1234&alt=sse failed",
                "GET https://<redacted>@host.example/v1/x?key=<redacted>&alt=sse failed",
            ),
            ("{\"api_key\": \"abcdef\", \"a\":1}", "{\"api_key\": \"<redacted>\", \"a\":1}"),
            ("password=hunter22;x", "password=<redacted>;x"),
            ("mail a.b+c@example.co.uk, please", "mail <email>, please"),
            ("image data:image/png;base64,iVBORw0KGgo= refused", "image <data> refused"),
            ("-----BEGIN PRIVATE KEY----- MIIE", "<redacted>"),
            ("at f (/srv/app/node_modules/x/index.js:10:5)", "at f (<path>)"),
            ("open /home/anna/.config/x: denied", "open <path>: denied"),
            ("File \"/code/server.py\", line 3", "File \"<path>\", line 3"),
            ("C:\\Users\\anna\\x.txt missing", "<path> missing"),
            ("see ~/secret/notes and \\\\server\\share", "see <path> and <path>"),
            ("see file:///anna/x", "see <path>"),
            ("key 0123456789abcdef0123456789abcdef here", "key <redacted> here"),
            ("a\u{0}b\u{7}c", "abc"),
        ] {
            assert_eq!(sanitize(text), expected);
        }
    }

    #[test]
    fn a_conversation_keeps_its_words_and_loses_what_opens_something() {
        for (text, expected) in [
            ("use sk-proj-abcd1234efgh\nand go on", "use <redacted>\nand go on"),
            ("sk-ant-api03-AbC_dEf-123456", "<redacted>"),
            ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "<redacted>"),
            (
                "ghp_0123456789abcdef, ya29.a0AfH6SMBx, xai-0123456789, gsk_0123456789",
                "<redacted>, <redacted>, <redacted>, <redacted>",
            ),
            ("eyJhbGciOi.eyJzdWIi.c2lnbmF0dXJl", "<redacted>"),
            ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer <redacted>"),
            ("password=hunter22;x", "password=<redacted>;x"),
            ("a -----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nb", "a <redacted>\nb"),
            ("mail anna.rossi@example.com", "mail a…@example.com"),
            ("open /home/anna/work/main.rs:3", "open ~/work/main.rs:3"),
            ("/Users/anna/x and /usr/bin/x", "~/x and /usr/bin/x"),
            (
                "line one\n\tline two, 0194f3a0-7c1e-7bb2-9f00-1234567890ab",
                "line one\n\tline two, 0194f3a0-7c1e-7bb2-9f00-1234567890ab",
            ),
        ] {
            assert_eq!(without_secrets(text), expected);
        }
    }

    #[test]
    fn what_agents_need_stays() {
        for text in [
            "Unknown request URL: POST /v1/chat/completions",
            "model anthropic.claude-3-5-sonnet-20241022-v2:0 not found",
            "Qwen3-Coder-480B-A35B-Instruct-FP8 and deepseek-r1-distill-llama-70b-free-preview-20250101",
            "request req_011CSHoEeqs5C35K2UUUqwbS failed",
            "see https://docs.example.com/home/errors.json for more",
            "max_tokens=100 is too large, max_token: 5, key: temperature",
            "data: missing, and/or empty",
            "Prompt zu groß: 5 € 日本語",
            "id 0194f3a0-7c1e-7bb2-9f00-1234567890ab",
        ] {
            assert_eq!(sanitize(text), text);
        }
    }

    #[test]
    fn only_the_first_line_and_so_many_characters_leave() {
        assert_eq!(sanitize("\n\n first \nsecond"), "first");
        assert_eq!(sanitize("one\rtwo"), "one");
        assert_eq!(sanitize(&"é".repeat(5000)).chars().count(), MAX_CHARACTERS);
        assert_eq!(sanitize(""), "");
    }

    #[test]
    fn any_text_is_survived() {
        for text in
            ["é@", "@", "data:", "Bearer ", "://", "a://", "key=", "/", "~/", "\\\\", "C:\\", "sk-", "\u{1f600}://x@y?"]
        {
            for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
                sanitize(&text[cut..]);
                sanitize(&text[..cut]);
            }
        }
    }
}
