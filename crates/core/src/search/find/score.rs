//! How well a path fits what somebody remembers of it.
//!
//! The alignment of Smith and Waterman as fuzzy finders use it: the letters of the query must appear in order, gaps
//! cost, runs and the beginnings of words gain, and so do letters in the file's own name. One letter in five of the
//! query may be missing from the path, so that a slip still finds the file; where all are there, none is given up.
//! Written here rather than taken from a crate: those that fit know no slips, and are either under a weak copyleft
//! licence or hundreds of lines of unsafe vector code, which would read file names that anybody may have chosen.

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
/// For the file's whole name, and for its name without suffix, where the query is one word: of several, one that is the
/// whole name of some `error.js` must not outweigh that the others are in another's.
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
#[derive(Debug, Clone, Default)]
pub(super) struct Candidate {
    letters: Vec<char>,
    /// What a match of each letter gains.
    gains: Vec<i32>,
    present: u64,
    name_start: usize,
    /// Rows of the alignment.
    rows: Vec<i32>,
    /// Cells of alignments so far: what scoring costs.
    pub(super) cells: u64,
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
            // One letter for each: what grows in lower case keeps its first character.
            let letter = if character.is_ascii() {
                character.to_ascii_lowercase()
            } else {
                character.to_lowercase().next().unwrap_or(character)
            };
            self.letters.push(letter);
            self.gains.push(if starts_word { MATCH + WORD_START } else { MATCH });
            self.present |= bit(letter);
            before = character;
        }
        for gain in self.gains.iter_mut().skip(self.name_start) {
            *gain += IN_NAME;
        }
    }

    /// How well the path fits `word`, one of `words`; `None` when too much of it is missing.
    pub(super) fn score(&mut self, word: &Word, words: i32) -> Option<i32> {
        if (word.present & !self.present).count_ones() as usize > word.missing {
            return None;
        }
        let missing = self.fewest_missing(word)?;
        let best = self.align(word, missing)?;
        let name = &self.letters[self.name_start..];
        let stem =
            name.iter().rposition(|letter| *letter == '.').filter(|dot| *dot > 0).map_or(name, |dot| &name[..dot]);
        let whole = match word.letters.as_slice() {
            letters if letters == name => WHOLE_NAME,
            letters if letters == stem => WHOLE_STEM,
            _ => 0,
        };
        Some(best + whole / (words * words).max(1))
    }

    /// How many letters of `word` must be given up for the others to stand in the path in order: one pass over both for
    /// each that may be. `None` for more than may be, or all.
    fn fewest_missing(&self, word: &Word) -> Option<usize> {
        const NOWHERE: usize = usize::MAX;
        // `ends[m]`: how much of the path the letters so far need with `m` of them given up.
        let mut ends = [NOWHERE; MAX_MISSING + 1];
        ends[0] = 0;
        for letter in &word.letters {
            for given_up in (0..=word.missing).rev() {
                let rest = self.letters.get(ends[given_up]..).unwrap_or_default();
                let here = rest.iter().position(|there| there == letter).map_or(NOWHERE, |at| ends[given_up] + at + 1);
                let without = given_up.checked_sub(1).map_or(NOWHERE, |fewer| ends[fewer]);
                ends[given_up] = here.min(without);
            }
        }
        ends.iter().position(|end| *end != NOWHERE && *end > 0)
    }

    /// The best alignment with up to `missing` letters given up. `matched[t][j]`: the letters so far, `t` of them missing, the last one at `j`;
    /// `reached[t][j]`: the same, ended at `j` or before, with the gap since then paid.
    fn align(&mut self, word: &Word, missing: usize) -> Option<i32> {
        let width = self.letters.len();
        let layers = missing + 1;
        self.cells += (word.letters.len() * layers * width) as u64;
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
        candidate.score(&Word::new(word), 1)
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
            ("a", "", false),
            ("supervizor", "src/supervisor.rs", true),
            ("suprevisor", "src/supervisor.rs", true),
            ("xubervizorq", "src/supervisor.rs", false),
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
