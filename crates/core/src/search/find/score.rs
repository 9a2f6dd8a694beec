//! How well a path fits what somebody remembers of it.
//!
//! The alignment of Smith and Waterman as fuzzy finders use it: the letters of the query must appear in order, gaps
//! cost, runs and the beginnings of words gain, and so do letters in the file's own name. One letter in five of the
//! query may be missing from the path, so that a slip still finds the file. Written here rather than taken from a
//! crate: those that fit are either under a weak copyleft licence or hundreds of lines of unsafe vector code, which
//! would read file names that anybody may have chosen.

/// 128 characters: a name that somebody remembers, not a text.
pub(super) const MAX_WORD_CHARS: usize = 128;

const MATCH: i32 = 16;
/// For a letter right behind the one before it.
const RUN: i32 = 8;
/// For the first letter of a word of the path: behind `/`, `_`, `-`, `.` or a space, or a capital behind a small one.
const WORD_START: i32 = 9;
/// For each letter in the file's own name.
const IN_NAME: i32 = 5;
/// For each character of the path between two letters.
const GAP: i32 = -1;
/// For a letter of the query that the path does not have: more than a match gains.
const MISSING: i32 = -22;
/// For the file's whole name, and for its name without suffix.
const WHOLE_NAME: i32 = 120;
const WHOLE_STEM: i32 = 90;
/// Less than any alignment scores, with room to add to.
const IMPOSSIBLE: i32 = i32::MIN / 4;
/// At most two letters of a word may be missing.
const MAX_MISSING: usize = 2;

/// One word of a query.
#[derive(Debug, Clone)]
pub(super) struct Word {
    letters: Vec<char>,
    missing: usize,
    present: u64,
}

impl Word {
    /// Case is of no account.
    pub(super) fn new(text: &str) -> Self {
        let letters: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
        let missing = (letters.len() / 5).min(MAX_MISSING);
        Self { missing, present: letters.iter().fold(0, |set, letter| set | bit(*letter)), letters }
    }
}

/// A path made ready to be held against words; reused from one to the next.
#[derive(Debug, Default)]
pub(super) struct Candidate {
    letters: Vec<char>,
    /// What a match of each letter gains.
    gains: Vec<i32>,
    present: u64,
    name_start: usize,
    /// Rows of the alignment.
    rows: Vec<i32>,
}

impl Candidate {
    /// Takes a path.
    pub(super) fn set(&mut self, path: &str) {
        self.letters.clear();
        self.gains.clear();
        self.present = 0;
        self.name_start = 0;
        let mut before = '/';
        for character in path.chars() {
            let starts_word = matches!(before, '/' | '_' | '-' | '.' | ' ')
                || (character.is_uppercase() && before.is_lowercase())
                || (character.is_ascii_digit() && !before.is_ascii_digit());
            if before == '/' {
                self.name_start = self.letters.len();
            }
            // One letter for each: what grows in lower case keeps its first character.
            let letter = character.to_lowercase().next().unwrap_or(character);
            self.letters.push(letter);
            self.gains.push(if starts_word { MATCH + WORD_START } else { MATCH });
            self.present |= bit(letter);
            before = character;
        }
        for gain in self.gains.iter_mut().skip(self.name_start) {
            *gain += IN_NAME;
        }
    }

    /// How well the path fits `word`; `None` when too much of it is missing.
    pub(super) fn score(&mut self, word: &Word) -> Option<i32> {
        if (word.present & !self.present).count_ones() as usize > word.missing || word.letters.is_empty() {
            return None;
        }
        let best = self.align(word)?;
        let name = &self.letters[self.name_start..];
        let stem =
            name.iter().rposition(|letter| *letter == '.').filter(|dot| *dot > 0).map_or(name, |dot| &name[..dot]);
        let whole = match word.letters.as_slice() {
            letters if letters == name => WHOLE_NAME,
            letters if letters == stem => WHOLE_STEM,
            _ => 0,
        };
        Some(best + whole)
    }

    /// The best alignment. `matched[t][j]`: the letters so far, `t` of them missing, the last one at `j`;
    /// `reached[t][j]`: the same, ended at `j` or before, with the gap since then paid.
    fn align(&mut self, word: &Word) -> Option<i32> {
        let width = self.letters.len();
        let layers = word.missing + 1;
        let Self { letters, gains, rows, .. } = self;
        rows.clear();
        rows.resize(4 * layers * width, IMPOSSIBLE);
        let (previous, next) = rows.split_at_mut(2 * layers * width);
        let (mut matched, mut reached) = previous.split_at_mut(layers * width);
        let (mut next_matched, mut next_reached) = next.split_at_mut(layers * width);
        for (index, letter) in word.letters.iter().enumerate() {
            for layer in 0..layers {
                let row = layer * width;
                let mut ended = IMPOSSIBLE;
                for at in 0..width {
                    let mut here = IMPOSSIBLE;
                    if letters[at] == *letter {
                        let before = match (index, at) {
                            // Letters that are missing before the first match were paid for in `reached`.
                            (0, _) => {
                                if layer == 0 {
                                    0
                                } else {
                                    IMPOSSIBLE
                                }
                            }
                            (_, 0) => {
                                if layer == index {
                                    missing_from_start(index)
                                } else {
                                    IMPOSSIBLE
                                }
                            }
                            (_, at) => {
                                let run = matched[row + at - 1] + RUN;
                                let gap = reached[row + at - 1];
                                let fresh = if layer == index { missing_from_start(index) } else { IMPOSSIBLE };
                                run.max(gap).max(fresh)
                            }
                        };
                        here = before + gains[at];
                    }
                    next_matched[row + at] = here;
                    let skipped = if layer > 0 && index > 0 { reached[row - width + at] + MISSING } else { IMPOSSIBLE };
                    ended = here.max(skipped).max(ended + GAP).max(IMPOSSIBLE);
                    next_reached[row + at] = ended;
                }
            }
            std::mem::swap(&mut matched, &mut next_matched);
            std::mem::swap(&mut reached, &mut next_reached);
        }
        // The gap behind the last letter costs nothing more than its order of places: the best place counts.
        reached.iter().copied().max().filter(|best| *best > 0)
    }
}

/// The price of having none of the first `count` letters.
fn missing_from_start(count: usize) -> i32 {
    MISSING * i32::try_from(count).unwrap_or(i32::MAX / 64)
}

/// A letter's place in a set of 64.
fn bit(letter: char) -> u64 {
    1 << (u32::from(letter) % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(word: &str, path: &str) -> Option<i32> {
        let mut candidate = Candidate::default();
        candidate.set(path);
        candidate.score(&Word::new(word))
    }

    #[test]
    fn letters_appear_in_order_and_one_in_five_may_be_missing() {
        for (word, path, fits) in [
            ("abc", "src/a_b_c.ts", true),
            ("abc", "src/c_b_a.ts", false),
            ("usrctrl", "app/UserController.php", true),
            ("authentification", "lib/authentication.ts", true),
            ("xuser", "user.ts", true),
            ("userx", "user.ts", true),
            ("abc", "ab", false),
            ("ÄRGER", "docs/ärger.md", true),
            ("", "a", false),
        ] {
            assert_eq!(score(word, path).is_some(), fits, "{word} {path}");
        }
    }

    #[test]
    fn better_fits_score_higher() {
        for (word, better, worse) in [
            ("user", "src/user.ts", "src/use_register.ts"),
            ("user", "src/user.ts", "user/src.ts"),
            ("uc", "UserController.ts", "auctions.ts"),
            ("index", "src/index.ts", "src/reindexing.ts"),
            ("readme", "README.md", "docs/readme-old/file.md"),
            ("parser.rs", "src/parser.rs", "src/parse/error.rs"),
            ("controller", "user_controller.rb", "user_contoller.rb"),
        ] {
            assert!(score(word, better) > score(word, worse), "{word}: {better} before {worse}");
        }
    }
}
