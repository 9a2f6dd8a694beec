//! Words after expansion, as far as it can be known before anything runs.

/// Stands for an unquoted `*` in an [`Argument`].
pub(crate) const ANY_NAME: char = '\u{1}';
/// Stands for an unquoted `?` or `[…]`.
pub(crate) const ANY_CHARACTER: char = '\u{2}';
/// Stands for what is known only when it runs: any text at all.
pub(crate) const ANYTHING: char = '\u{3}';
/// Stands by itself for the name of a pipe.
const PIPE: char = '\u{4}';

/// Whether part of a text stands for something else.
pub(crate) fn is_marked(text: &str) -> bool {
    text.bytes().any(is_marker)
}

/// Whether a byte is one of those that stand for something else.
pub(crate) fn is_marker(byte: u8) -> bool {
    const FIRST: u8 = ANY_NAME as u8;
    const LAST: u8 = PIPE as u8;
    (FIRST..=LAST).contains(&byte)
}

/// One argument of a command. Scripts with control characters are refused before, so the markers are ours alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument {
    text: String,
    /// Whether it is one word also where a part of it is known only when it runs.
    is_one: bool,
}

impl Argument {
    /// An argument that is known.
    pub(crate) fn known(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_one: false }
    }

    /// One argument, whatever the parts of it are that are known only when it runs.
    pub(super) fn one(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_one: true }
    }

    /// An argument of which nothing is known.
    pub(crate) fn unknown() -> Self {
        Self::known(ANYTHING)
    }

    /// The name of a pipe, which is no file.
    pub(super) fn pipe() -> Self {
        Self::known(PIPE)
    }

    /// Whether it is one.
    pub(super) fn is_pipe(&self) -> bool {
        self.text.starts_with(PIPE)
    }

    /// The text, when all of it is known.
    pub(crate) fn exact(&self) -> Option<&str> {
        (!is_marked(&self.text)).then_some(self.text.as_str())
    }

    /// Whether part of it is known only when it runs; a file-name pattern alone is not such a part.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.text.contains(ANYTHING)
    }

    /// Whether it is one argument: what is not known and stands in no quotes may be several.
    pub(super) fn is_one(&self) -> bool {
        self.is_one || !self.is_dynamic()
    }

    /// The text with its markers.
    pub(crate) fn marked(&self) -> &str {
        &self.text
    }

    /// Whether it is a cluster of short options with that letter.
    pub(super) fn has_letter(&self, letter: char) -> bool {
        self.text.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
    }

    /// Whether it has that letter, or may have it.
    pub(super) fn may_have_letter(&self, letter: char) -> bool {
        self.has_letter(letter) || (self.is_unknown_option() && !self.text.starts_with("--"))
    }

    /// Whether it is an option of which a part is known only when it runs.
    pub(super) fn is_unknown_option(&self) -> bool {
        self.text.starts_with('-') && is_marked(&self.text)
    }

    /// The text as people read it.
    pub(crate) fn shown(&self) -> String {
        self.text
            .chars()
            .map(|character| match character {
                ANY_NAME => '*',
                ANY_CHARACTER => '?',
                ANYTHING | PIPE => '…',
                other => other,
            })
            .collect()
    }
}
