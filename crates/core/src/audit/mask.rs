//! Secrets taken out of text and JSON: by the name beside them, and by their own shape.
//!
//! It rather masks too much: what is masked is a record, not the thing itself. What it cannot know is a secret that has
//! neither a telling name nor a known shape. But it hides nothing that a shell runs: a secret ends where a substitution
//! begins, and a command line is masked so that it still shows every command ([`super::command`]).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

use regex_automata::Input;
use regex_automata::meta::Regex;
use serde_json::{Map, Value};

use super::command;
use super::repeated::Repeated;

/// What stands in the place of a secret.
pub(super) const MASKED: &str = "[masked]";
/// 6 characters: a value that stood beside a telling name is masked wherever else it stands, unless it is shorter or holds
/// only letters, as words do.
const REPEATED_CHARS: usize = 6;

/// 4 commands of a record are masked so that they show what they run; what else is called a command is a text.
const COMMANDS: usize = 4;

/// The endings of names whose values are secrets, in lower case and without what separates words.
const NAME: &str = r"(?:passw(?:or)?d[a-z0-9_-]*|passphrase|passcode|[_-]pwd|[_-]pass|secret|token|credentials?|(?:api|access|auth|account|private|secret|signing|encryption|master|shared|ssh|session|service|client|storage|license|deploy|admin|app)[_-]?key|[_-]key|[_-]auth|connection[_-]?string|dsn)(?:[_-]?(?:[0-9]+|base|b64|base64|hash|value|raw))?";

/// A value: quoted to its end, else up to what separates words in shells, URLs and code.
const VALUE: &str = r#"(?:\\+["']((?:\\{2,}.|[^"'\\])+)|"((?:\\.|[^"\\])+)|'((?:\\.|[^'\\])+)|`([^`]+)|([^ \t\r\n"'`,;&|<>(){}\[\]]+))"#;

/// Shapes that tell a secret by themselves. Prefixes are those that their issuers document.
const SHAPES: &str = concat!(
    r"(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|[srpw]k?_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,}",
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|gl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_-]{16,}",
    r"|xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
    r"|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}",
    r"|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{20,}|dop_v1_[a-f0-9]{40,}|do[or]_v1_[a-f0-9]{40,}",
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*",
    r"|AGE-SECRET-KEY-1[A-Z0-9]{20,}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{20,}|lin_api_[A-Za-z0-9]{20,}|hv[sb]\.[A-Za-z0-9_-]{20,}",
    r"|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|pplx-[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{20,}|tfp_[A-Za-z0-9]{20,}|dapi[a-f0-9]{32}",
);

/// Each pattern masks its groups, or the whole match where it has none.
fn patterns() -> Option<&'static Regex> {
    static PATTERNS: OnceLock<Option<Regex>> = OnceLock::new();
    let made = PATTERNS.get_or_init(|| {
        let blank = r"[ \t\r\n]";
        let patterns = [
            r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)"
                .to_owned(),
            // Headers, with whatever scheme; nothing behind what ends a command.
            r#"(?i)(?:authorization|x-[a-z-]*(?:key|token|secret))\\*["']?[ \t]*:[ \t]*\\*["']?([^\r\n"'`;&|<>()]+)"#.to_owned(),
            r#"(?i)(?:authorization|x-[a-z-]*(?:key|token|secret))\\*["']?[ \t]*=[ \t]*\\*["']?((?:(?:bearer|basic|digest|token|negotiate)[ \t]+)?[^ \t\r\n"'`;&|<>()]+)"#.to_owned(),
            r#"(?i)cookie\\*["']?[ \t]*[:=][ \t]*\\*["']?([^ \t\r\n"'`;&|<>()]+(?:;[ \t]*[^ \t\r\n"'`;&|<>()=]+=[^ \t\r\n"'`;&|<>()]*)*)"#.to_owned(),
            format!(r"(?i)(?-u:\b)(?:bearer|basic){blank}+([A-Za-z0-9._~+/=-]{{6,}})"),
            // The password of a URL, and that of `curl -u`.
            r#"(?i)[a-z][a-z0-9+.-]*://[^ \t\r\n/:@"']*:([^ \t\r\n/@"']+)@"#.to_owned(),
            r#"(?:^|[ \t])(?:-u|--user|--proxy-user)(?:=|[ \t]*)["']?[^ \t\r\n:"']+:([^ \t\r\n"']+)"#.to_owned(),
            // `--password value`.
            format!(r#"(?i)(?:^|[ \t\r\n"'])--?[a-z0-9_-]*{NAME}{blank}+{VALUE}"#),
            format!(r#"(?i){NAME}\\*["'`\]]*{blank}*(?:=>|:=|==|[:=]){blank}*{VALUE}"#),
            format!(r"(?-u:\b)(?:{SHAPES})"),
        ];
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        Regex::new_many(&patterns).ok()
    });
    made.as_ref()
}

/// The text without its secrets.
pub fn mask(text: &str) -> Cow<'_, str> {
    let spans = secrets(text);
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut found = BTreeSet::new();
    learn(text, &spans, &mut found);
    let masked = without(text, &spans, MASKED);
    Cow::Owned(Repeated::of(&found).and_then(|repeated| repeated.mask(&masked)).unwrap_or(masked))
}

/// A text that says what is touched loses nothing but what is a secret by its own shape: a model chooses what stands beside it
/// and what else the record says, and could call any name a token.
fn mask_place(text: &str) -> Option<String> {
    let shapes = shapes()?;
    let spans: Vec<Range<usize>> = shapes.find_iter(text).map(|found| found.range()).collect();
    (!spans.is_empty()).then(|| without(text, &spans, MASKED))
}

fn shapes() -> Option<&'static Regex> {
    static SHAPE: OnceLock<Option<Regex>> = OnceLock::new();
    SHAPE.get_or_init(|| Regex::new(&format!(r"(?-u:\b)(?:{SHAPES})")).ok()).as_ref()
}

/// Takes the secrets out of a record: values by the names of their fields, texts as [`mask`] does, and what was found in
/// one place wherever else it stands. Commands are masked first, and stand masked in the same way in other texts.
pub fn mask_json(record: &mut Value) {
    let mut commands = Vec::new();
    let mut found = BTreeSet::new();
    collect_commands(record, &mut commands, &mut found);
    walk(record, Says::Anything, &mut |text, says| match says {
        Says::Anything => mask_around(text, &commands, &mut found),
        Says::Place => mask_place(text),
    });
    for (_, masked) in &commands {
        command::keep_visible(masked, &mut found, MASKED);
    }
    if let Some(repeated) = Repeated::of(&found) {
        walk(record, Says::Anything, &mut |text, says| match says {
            Says::Anything => repeated.mask(text),
            Says::Place => None,
        });
    }
}

/// The commands of a record that hold secrets, each with what is shown of it. Adds what is not to `found`.
fn collect_commands(value: &Value, commands: &mut Vec<(String, String)>, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_commands(item, commands, found)),
        Value::Object(fields) => {
            // What is touched by running it is a command line too, and so is what is typed at what may be a shell.
            let typed = fields.contains_key("shell_id") || fields.contains_key("id");
            let executes = fields.get("operation").is_some_and(|operation| operation == "execute");
            for (name, value) in fields {
                match value {
                    Value::String(text)
                        if name == "command" || (executes && name == "target") || (typed && name == "text") =>
                    {
                        // A model can nest what looks like commands; those of tools come first.
                        let spans = if commands.len() < COMMANDS { secrets(text) } else { Vec::new() };
                        if !spans.is_empty() && !commands.iter().any(|(known, _)| known == text) {
                            let spans =
                                if typed { command::visible_lines(text, spans) } else { command::visible(text, spans) };
                            learn(text, &spans, found);
                            commands.push((text.clone(), without(text, &spans, MASKED)));
                        }
                    }
                    value => collect_commands(value, commands, found),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether the value of a field of this name is a secret, whatever it is.
fn is_secret_name(name: &str) -> bool {
    static NAMES: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = || Regex::new(&format!(r"(?i)(?:{NAME}|authorization|cookie)\z")).ok();
    // Two words in one, such as `apiKey`, are told by the pattern too: it knows no case.
    NAMES.get_or_init(pattern).as_ref().is_none_or(|pattern| pattern.is_match(name))
}

/// What a text of a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Anything,
    /// Which file or directory is touched.
    Place,
}

/// Fields of tools and requests that say what is touched.
const TOUCHED: [&str; 8] = ["path", "paths", "source", "destination", "target", "resolved", "cwd", "link"];

/// Runs `change` on every text of a value, names included, and masks what secret names hold. Goes as deep as the record,
/// which the reader of JSON bounds.
fn walk(value: &mut Value, says: Says, change: &mut impl FnMut(&str, Says) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(changed) = change(text, says) {
                *text = changed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, says, change)),
        Value::Object(fields) => walk_fields(fields, change),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn walk_fields(fields: &mut Map<String, Value>, change: &mut impl FnMut(&str, Says) -> Option<String>) {
    // What is touched by running it is a command line.
    let executes = fields.get("operation").is_some_and(|operation| operation == "execute");
    for (name, value) in fields.iter_mut() {
        if is_secret_name(name) && !matches!(value, Value::Null | Value::Bool(_)) {
            // The text of the pair teaches `change` what the secret is.
            if let Value::String(secret) = value {
                change(&format!("token={}", Value::from(secret.as_str())), Says::Anything);
            }
            *value = Value::from(MASKED);
        } else {
            let is_place = TOUCHED.contains(&name.as_str()) && !(executes && name == "target");
            walk(value, if is_place { Says::Place } else { Says::Anything }, change);
        }
    }
    let renamed: Vec<_> =
        fields.keys().filter_map(|name| Some((name.clone(), change(name, Says::Anything)?))).collect();
    for (name, mut masked) in renamed {
        if let Some(value) = fields.remove(&name) {
            // Two names that are the same without their secrets are two fields all the same.
            while fields.contains_key(&masked) {
                masked.push('\'');
            }
            fields.insert(masked, value);
        }
    }
}

/// As [`mask_found`], but commands of the record that stand in the text stay as they were masked.
fn mask_around(text: &str, commands: &[(String, String)], found: &mut BTreeSet<String>) -> Option<String> {
    let known =
        commands.iter().find_map(|(command, masked)| Some((text.find(command.as_str())?, command.len(), masked)));
    let Some((start, length, masked)) = known else { return mask_found(text, found) };
    let around = [&text[..start], &text[start + length..]]
        .map(|part| mask_found(part, found).unwrap_or_else(|| part.to_owned()));
    Some(format!("{}{masked}{}", around[0], around[1]))
}

/// `None` where nothing is to be masked. Adds what was masked to `found`.
fn mask_found(text: &str, found: &mut BTreeSet<String>) -> Option<String> {
    let spans = secrets(text);
    if spans.is_empty() {
        return None;
    }
    learn(text, &spans, found);
    Some(without(text, &spans, MASKED))
}

/// Where secrets stand, in order and apart from each other.
fn secrets(text: &str) -> Vec<Range<usize>> {
    // A pattern that does not compile is a defect that the tests find; nothing is shown then.
    let whole = 0..text.len();
    let Some(patterns) = patterns() else { return vec![whole] };
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut captures = patterns.create_captures();
    let mut from = 0;
    while from <= text.len() {
        patterns.search_captures(&Input::new(text).range(from..), &mut captures);
        let Some(whole) = captures.get_match() else { break };
        let groups: Vec<_> = (1..captures.group_len()).filter_map(|group| captures.get_group(group)).collect();
        let groups = if groups.is_empty() { vec![whole.span()] } else { groups };
        // What stands in a substitution is looked at by itself.
        let mut next = if whole.is_empty() { whole.end() + 1 } else { whole.end() };
        for group in groups {
            let end = literal_end(text, group.range());
            if end < group.end {
                next = next.min(end + 1);
            }
            let secret = group.start..end;
            let is_after = spans.last().is_none_or(|last| last.end <= secret.start);
            if is_after && !secret.is_empty() && text[secret.clone()] != *MASKED {
                spans.push(secret);
            }
        }
        from = text.ceil_char_boundary(next.max(whole.start() + 1));
    }
    spans
}

/// The end of what is only text in a value: a shell runs what begins behind it. A back quote that opens the value after a `=`
/// is a substitution too; in code it is one kind of quotes.
fn literal_end(text: &str, value: Range<usize>) -> usize {
    let inside = &text[value.clone()];
    if text[..value.start].ends_with("=`") {
        return value.start;
    }
    let mut end = value.end;
    for opening in ["$(", "`", "<(", ">("] {
        end = end.min(inside.find(opening).map_or(end, |at| value.start + at));
    }
    // A value ends before a bracket, and may hold the dollar in front of it.
    let opens = text[end..].starts_with('(') && matches!(inside.as_bytes().last(), Some(b'$' | b'<' | b'>'));
    if end == value.end && opens { end - 1 } else { end }
}

/// Adds what stands in `spans` to what is masked elsewhere too.
fn learn(text: &str, spans: &[Range<usize>], found: &mut BTreeSet<String>) {
    for span in spans {
        let value = text[span.clone()].trim_matches(['"', '\'', ' ']);
        // A header's value is a scheme and a secret.
        for word in value.split_ascii_whitespace().chain([value]) {
            if word.chars().count() >= REPEATED_CHARS && word.chars().any(|character| !character.is_alphabetic()) {
                found.insert(word.to_owned());
            }
        }
    }
}

/// The text with something else in the places of `spans`.
pub(super) fn without(text: &str, spans: &[Range<usize>], instead: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut kept = 0;
    for span in spans {
        masked.push_str(&text[kept..span.start]);
        masked.push_str(instead);
        kept = span.end;
    }
    masked.push_str(&text[kept..]);
    masked
}
