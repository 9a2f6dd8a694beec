//! Compiles the pattern of a search for lines, or says what is wrong with it, with a caret under the place.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use regex_syntax::hir::{Hir, HirKind};

use super::pace::Pace;
use crate::error::{Error, Result, Shown};
use crate::search::query::{CaseMode, GrepQuery};

/// 8 KiB: longer than any pattern that a person or a model writes (R-FS-10).
const MAX_PATTERN_BYTES: usize = 8 << 10;
/// 8 MiB for a compiled pattern, and for the states that one thread remembers of it (R-FS-10).
pub(super) const MAX_REGEX_BYTES: usize = 8 << 20;
/// 128 bytes: a longer pattern takes its time to compile.
const QUICK_PATTERN_BYTES: usize = 128;
/// 100 groups within each other (R-FS-10).
const MAX_NESTING: u32 = 100;

/// The matcher of `query`, and how much text it may be handed at once. `InvalidInput` for a pattern that is not valid,
/// too long or too large, and for one that needs `multiline` and does not have it.
pub(super) fn compile(query: &GrepQuery) -> Result<(RegexMatcher, Pace)> {
    let weight = check(query)?;
    // Each state takes more bytes than this: no need to find out by building it.
    if weight > MAX_REGEX_BYTES / 4 {
        return Err(too_much());
    }
    let matcher = builder(query).build(&query.pattern).map_err(|error| match error.kind() {
        ErrorKind::NotAllowed(_) => needs_multiline(),
        ErrorKind::Regex(message) if message.contains("size limit") => too_much(),
        _ => Error::invalid("The pattern is not a valid regular expression. Set 'literal' to search for plain text."),
    })?;
    Ok((matcher, Pace::of_weight(weight)))
}

/// The same for content of ASCII alone, where a pattern means the same without Unicode, and compiles in a fraction of the time.
/// One thread remembers states in so many bytes. `None` where it does not compile without.
pub(super) fn compile_ascii(query: &GrepQuery, dfa_bytes: usize) -> Option<(RegexMatcher, Pace)> {
    let weight = check(query).ok()?;
    let matcher = builder(query).unicode(false).dfa_size_limit(dfa_bytes).build(&query.pattern).ok()?;
    Some((matcher, Pace::of_weight(weight)))
}

/// The steps that a byte of ASCII takes at most, roughly; `None` for a pattern that is not valid, or whose compilation takes
/// longer than most searches.
pub(super) fn quick_weight(query: &GrepQuery) -> Option<u64> {
    // Groups that capture nothing are no more costly than others.
    let costly = ["{", "\\p", "\\P"].iter().any(|costly| query.pattern.contains(costly))
        || query.pattern.matches("(?").count() > query.pattern.matches("(?:").count();
    let is_quick = query.literal || !costly;
    if !is_quick || !query.pattern.is_ascii() || query.pattern.len() > QUICK_PATTERN_BYTES {
        return None;
    }
    check(query).ok().map(|weight| weight as u64)
}

fn builder(query: &GrepQuery) -> RegexMatcherBuilder {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(query.case == CaseMode::Insensitive)
        .case_smart(query.case == CaseMode::Smart)
        .fixed_strings(query.literal)
        .word(query.word)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_REGEX_BYTES)
        .nest_limit(MAX_NESTING)
        // So that `$` also matches before the `\r\n` of a file from Windows.
        .crlf(true)
        .line_terminator(if query.multiline { None } else { Some(b'\n') });
    builder
}

fn too_much() -> Error {
    Error::invalid(format!(
        "The pattern compiles to more than {} MiB; make its repetitions or character classes smaller.",
        MAX_REGEX_BYTES >> 20
    ))
}

/// Judges what can be judged without compiling. Returns about how many states the pattern has: what each byte of text
/// may cost where the engine must follow all of them.
fn check(query: &GrepQuery) -> Result<usize> {
    if query.pattern.len() > MAX_PATTERN_BYTES {
        return Err(Error::invalid(format!(
            "The pattern has {} bytes; at most {MAX_PATTERN_BYTES} are possible.",
            query.pattern.len()
        )));
    }
    if query.literal {
        return if query.pattern.contains('\n') && !query.multiline { Err(needs_multiline()) } else { Ok(1) };
    }
    let parsed = regex_syntax::ParserBuilder::new().nest_limit(MAX_NESTING).utf8(false).build().parse(&query.pattern);
    match parsed {
        Ok(parsed) => Ok(weight(&parsed)),
        Err(regex_syntax::Error::Parse(error)) if needs_backtracking(error.kind()) && !query.look_around => {
            let what = "look-around and back-references need the option 'look_around'";
            Err(fault(&query.pattern, error.span().start.offset, what))
        }
        Err(regex_syntax::Error::Parse(error)) => Err(fault(&query.pattern, error.span().start.offset, error.kind())),
        Err(regex_syntax::Error::Translate(error)) => {
            Err(fault(&query.pattern, error.span().start.offset, error.kind()))
        }
        Err(_) => Err(Error::invalid("The pattern is not a valid regular expression.")),
    }
}

/// The states that a compiled expression has at most, roughly. Recurses as deep as groups nest, which is bounded.
fn weight(expression: &Hir) -> usize {
    /// The encoding of one character, whatever the class: more states are never followed at once.
    const CLASS: usize = 4;
    let sum = |parts: &[Hir]| parts.iter().fold(parts.len(), |sum, part| sum.saturating_add(weight(part)));
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(_) => CLASS,
        HirKind::Capture(group) => weight(&group.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
        HirKind::Repetition(repetition) => {
            let copies = repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(1) as usize;
            weight(&repetition.sub).saturating_add(1).saturating_mul(copies)
        }
    }
}

/// Whether what keeps a pattern from the linear engine is that it looks around or refers back.
pub(super) fn needs_look_around(pattern: &str) -> bool {
    let parsed = regex_syntax::ParserBuilder::new().nest_limit(MAX_NESTING).utf8(false).build().parse(pattern);
    matches!(parsed, Err(regex_syntax::Error::Parse(error)) if needs_backtracking(error.kind()))
}

fn needs_backtracking(kind: &regex_syntax::ast::ErrorKind) -> bool {
    use regex_syntax::ast::ErrorKind::{UnsupportedBackreference, UnsupportedLookAround};
    matches!(kind, UnsupportedBackreference | UnsupportedLookAround)
}

fn needs_multiline() -> Error {
    Error::invalid("The pattern holds a line end, and lines are searched one by one; set 'multiline' to match across.")
}

/// An error with the part of the pattern around `offset` and a caret under it.
pub(super) fn fault(pattern: &str, offset: usize, what: impl std::fmt::Display) -> Error {
    /// Characters that are shown on either side of the fault.
    const SHOWN: usize = 40;
    let offset = (0..=offset.min(pattern.len())).rev().find(|at| pattern.is_char_boundary(*at)).unwrap_or(0);
    let (before, after) = pattern.split_at(offset);
    let skipped = before.chars().count().saturating_sub(SHOWN);
    let head: String = before.chars().skip(skipped).collect();
    let tail: String = after.chars().take(SHOWN).collect();
    let head = format!("{}{}", if skipped == 0 { "" } else { "…" }, Shown(&head));
    let cut = if after.chars().nth(SHOWN).is_some() { "…" } else { "" };
    Error::invalid(format!(
        "The pattern is not a valid regular expression: {what}.\n  {head}{}{cut}\n  {:>width$}\nEscape it with '\\', or \
         set 'literal' to search for plain text.",
        Shown(&tail),
        "^",
        width = head.chars().count() + 1
    ))
}

#[cfg(test)]
mod tests {
    use grep_matcher::Matcher as _;
    use proptest::prelude::*;

    use super::*;
    use crate::path::VirtualPath;

    /// What is matched without Unicode first compiles with it when a text asks for that, so that no answer depends on the texts.
    #[test]
    fn whatever_is_quick_compiles_for_any_text() {
        for part in [r"\w", r"\W", r"\S", r"\B", "[^a]", "[k-s]", ".", "(.)*", r"(?:\w+)+", "|a"] {
            for (case, word) in [(CaseMode::Sensitive, false), (CaseMode::Insensitive, true)] {
                let pattern = part.repeat(QUICK_PATTERN_BYTES / part.len());
                let query = GrepQuery { case, word, ..GrepQuery::new(pattern, VirtualPath::root()) };
                assert!(quick_weight(&query).is_some() && compile(&query).is_ok(), "{part}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_pattern_means_the_same_in_ascii(
            pattern in r"([a-cA-K.]|\\[wWsSdDbB]|\[\^?[a-c]-?\]|[|*+?^$]|\((\?i\))?|\)|\\p\{Lu\}){0,8}",
            lines in "[a-cA-K \t\r!-~]{0,12}(\n[a-cA-K ]{0,6}){0,2}",
            insensitive: bool,
            word: bool,
        ) {
            let case = if insensitive { CaseMode::Insensitive } else { CaseMode::Sensitive };
            let query = GrepQuery { case, word, ..GrepQuery::new(pattern, VirtualPath::root()) };
            // What needs Unicode does not compile without it, and is then compiled with it.
            if let Some((ascii, _)) = compile_ascii(&query, MAX_REGEX_BYTES) {
                let found = |matcher: &RegexMatcher| matcher.find(lines.as_bytes()).unwrap();
                prop_assert_eq!(found(&compile(&query).unwrap().0), found(&ascii));
            }
        }
    }
}
