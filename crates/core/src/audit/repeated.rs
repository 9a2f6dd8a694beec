//! What was found to be a secret in one place of a record, wherever else it stands in it.
//!
//! A model chooses how many secrets a record seems to hold, and how many texts: all of them are looked for at once, in time in
//! proportion to the texts.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use super::mask::MASKED;

/// 64 bytes of a secret are looked for; behind them it is masked up to what separates words.
const NEEDLE_BYTES: usize = 64;

/// Secrets to look for.
pub(super) struct Repeated {
    /// `None` where there are more than can be looked for: nothing is shown then.
    needles: Option<AhoCorasick>,
    /// Whether each is only the beginning of a secret.
    is_beginning: Vec<bool>,
}

impl Repeated {
    /// `None` where there is nothing to look for.
    pub(super) fn of(found: &BTreeSet<String>) -> Option<Self> {
        let cut = |word: &'_ str| word.floor_char_boundary(NEEDLE_BYTES).min(word.len());
        let needles = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(found.iter().map(|word| &word[..cut(word)]))
            .ok();
        let is_beginning = found.iter().map(|word| cut(word) < word.len()).collect();
        (!found.is_empty()).then_some(Self { needles, is_beginning })
    }

    /// The text without them; `None` where it holds none.
    pub(super) fn mask(&self, text: &str) -> Option<String> {
        let Some(needles) = &self.needles else { return Some(MASKED.to_owned()) };
        let mut masked = String::new();
        let mut kept = 0;
        while let Some(found) = needles.find(Input::new(text).range(kept..)) {
            masked.push_str(&text[kept..found.start()]);
            masked.push_str(MASKED);
            kept = found.end();
            if self.is_beginning.get(found.pattern().as_usize()).copied().unwrap_or(true) {
                let rest = &text[kept..];
                kept += rest.find(|next: char| next.is_whitespace() || "\"'`".contains(next)).unwrap_or(rest.len());
            }
        }
        (kept > 0).then(|| masked + &text[kept..])
    }
}
