//! The variables in what bash takes for a number.

/// Stands for `$1`, `$2`, … and `$@`.
pub(crate) const POSITIONAL: &str = "@";

/// The variables of a sum.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Those whose value it takes.
    pub(crate) read: Vec<String>,
    /// Those that it gives one, whatever they held.
    pub(crate) set: Vec<String>,
}

/// The variables in the text of a sum.
pub(crate) fn names_in(text: &str) -> Names {
    let mut names = Names::default();
    let mut rest = text;
    while let Some(start) = rest.find(|character: char| character == '_' || character.is_ascii_alphanumeric()) {
        let word = &rest[start..];
        let length = word.find(|character: char| character != '_' && !character.is_ascii_alphanumeric());
        let (word, after) = word.split_at(length.unwrap_or(word.len()));
        if !word.starts_with(|first: char| first.is_ascii_digit()) {
            if sets(after) { names.set.push(word.to_owned()) } else { names.read.push(word.to_owned()) }
        } else if rest[..start].ends_with('$') {
            names.read.push(POSITIONAL.to_owned());
        }
        rest = after;
    }
    names
}

/// Whether what follows a name gives it a value.
pub(crate) fn sets(after: &str) -> bool {
    after.trim_start_matches([' ', '\t']).strip_prefix('=').is_some_and(|rest| !rest.starts_with('='))
}
