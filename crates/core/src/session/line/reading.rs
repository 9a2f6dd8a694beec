//! What a line is to those who may read it. A line editor takes controls for keys. A program that has whole lines of the kernel has
//! most of them as letters of the line, an escape too.

/// Stands for a control that is a letter: it parts no words, and nothing is called by it.
const LETTER: char = char::REPLACEMENT_CHARACTER;

/// A line as it may be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// Its characters, to a line editor.
    pub(super) edited: String,
    /// These with the keys among them, to a program that has whole lines.
    whole: String,
}

impl Reading {
    /// As many bytes as it has at the most.
    pub(super) fn bytes(&self) -> usize {
        self.edited.len().max(self.whole.len())
    }

    pub(super) fn push(&mut self, letter: &str) {
        self.edited.push_str(letter);
        self.whole.push_str(letter);
    }

    /// Takes a key that is no character: its bytes are letters, of which some part words and commands or begin others.
    pub(super) fn press(&mut self, key: &[u8]) {
        let given: Vec<u8> = key.iter().copied().filter(|byte| !is_of_kernel(*byte)).collect();
        let letter = |letter: char| if letter.is_ascii_control() && letter != '\t' { LETTER } else { letter };
        self.whole.extend(String::from_utf8_lossy(&given).chars().map(letter));
    }

    /// What the next line goes on with in a shell, where this one ends with a backslash.
    pub(super) fn joined(&self) -> Option<Self> {
        let [edited, whole] =
            [&self.edited, &self.whole].map(|text| text.strip_suffix('\\').filter(|rest| goes_on(rest)));
        let edited = edited?.to_owned();
        Some(Self { whole: whole.map_or_else(|| edited.clone(), str::to_owned), edited })
    }

    /// What it is to a program that has whole lines, where that is another text; keys alone are no command.
    pub(super) fn otherwise(&self) -> Option<String> {
        (self.whole != self.edited && !self.edited.is_empty()).then(|| self.whole.clone())
    }
}

/// Whether a backslash behind that text is none that another one makes a letter of.
fn goes_on(text: &str) -> bool {
    text.bytes().rev().take_while(|byte| *byte == b'\\').count().is_multiple_of(2)
}

/// Whether the kernel acts on a control and gives it to nobody: Ctrl-Q, Ctrl-R, Ctrl-S, Ctrl-U, Ctrl-V, Ctrl-W and backspace.
fn is_of_kernel(byte: u8) -> bool {
    matches!(byte, 0x11..=0x13 | 0x15..=0x17 | 0x7F)
}

/// Whether what is sent with an escape, or right behind one, runs a line for some line editor: Ctrl-D ends it in the modes of vi, Ctrl-E
/// expands the commands in it, `#` makes it a comment or takes that back, `v` opens it in an editor, `a` keeps it (zsh).
pub(super) fn runs_behind_escape(sent: &[u8]) -> bool {
    match sent {
        [byte] => matches!(byte, 0x04 | 0x05 | 0x18 | b'#' | b'a' | b'A' | b'v'),
        _ => runs_of_letter(sent),
    }
}

/// Whether a character runs a line where characters are commands: those of vi, which `#` and `v` are.
pub(super) fn runs_in_command_mode(character: &[u8]) -> bool {
    matches!(character, b"#" | b"v")
}

/// Whether the bytes of a letter beyond ASCII run a line where the locale has none: each is an escape with what it is without its first
/// bit.
pub(super) fn runs_of_letter(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| matches!(byte, 0x84 | 0x85 | 0x8A | 0x8D | 0x8F | 0x98 | 0xA3))
}
