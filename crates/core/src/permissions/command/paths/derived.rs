//! Names that a program makes of others: backups beside a file, parts of one, and what `find` removes by a name.

use std::borrow::Cow;
use std::collections::HashSet;

use super::super::argument::{ANY_CHARACTER, ANY_NAME, ANYTHING, Argument, is_marked};
use super::archives::few;
use super::searches::programmed;
use super::values::{cluster, is_long, positional, values_of};
use super::{Places, Use};

/// 64 bytes of a suffix or a prefix: what is longer, times many files, would be many times the text.
const AFFIX_BYTES: usize = 64;
/// 4 places in a suffix that the name of the file takes.
const STARS: usize = 4;
/// 4 suffixes, where only the run says which.
const AFFIXES: usize = 4;
/// 80 names that one `find` looks for.
const NAMES: usize = 80;
/// 4,096 bytes of them.
const NAME_BYTES: usize = 4_096;
/// 64 names that one patch may give a file, of 4,096 bytes.
const PATCHED: usize = 64;
/// 16 signs that number a part of a file.
const DIGITS: usize = 16;

impl Places<'_> {
    /// Notes what the environment ends the names of backups with.
    pub(in super::super) fn see_suffix(&mut self, variable: &str, value: &str) {
        let suffix = Argument::known(value);
        if variable == "SIMPLE_BACKUP_SUFFIX" && self.suffixes.len() <= AFFIXES && !self.suffixes.contains(&suffix) {
            self.suffixes.push(suffix);
        }
    }

    pub(super) fn see_derived(&mut self, name: &str, arguments: &[Argument], operands: &[&Argument]) {
        match name {
            "cp" | "mv" | "install" | "ln" => self.see_backups(arguments, operands),
            "sed" | "gsed" | "perl" => self.see_edited(name, arguments),
            "patch" => {
                let directories = few(values_of(arguments, &["-d", "--directory"]));
                self.see_patched(arguments);
                for directory in &directories {
                    self.from(directory, |places| places.see_patched(arguments));
                }
            }
            "split" => self.see_parts(arguments),
            "csplit" => self.see_sections(arguments),
            "find" if arguments.iter().any(|word| word.exact() == Some("-delete")) => self.see_found(arguments),
            _ => {}
        }
    }

    /// A file by the name that a program makes.
    pub(super) fn add_made(&mut self, name: String, what: Use) {
        self.add_unlisted(&Argument::known(name), what);
    }

    /// What bears the name of the target, or lies in it by that of a source, is kept by another.
    fn see_backups(&mut self, arguments: &[Argument], operands: &[&Argument]) {
        let given = values_of(arguments, &["-S", "--suffix"]);
        let keeps = |word: &Argument| {
            let letters = cluster(word.marked(), "Stgmo").map_or("", |(letters, _)| letters);
            letters.contains(['b', ANYTHING]) || is_long(word.marked(), &["backup"])
        };
        if given.is_empty() && !arguments.iter().any(keeps) {
            return;
        }
        let mut targets = values_of(arguments, &["-t", "--target-directory"]);
        targets.extend(operands.last().map(|target| (*target).clone()));
        let Some(suffixes) = self.suffixes(given) else { return self.add(&Argument::unknown(), Use::Write) };
        for target in few(targets) {
            let target = target.marked().trim_end_matches('/');
            let sources = distinct(operands).map(|source| stem(base_of(source)));
            let within = sources.filter(|name| !matches!(&**name, "" | "." | ".."));
            let names = std::iter::once(target.to_owned()).chain(within.map(|name| format!("{target}/{name}")));
            for name in names {
                suffixes.iter().for_each(|suffix| self.add_made(format!("{name}{suffix}"), Use::Write));
                if self.is_full() {
                    return;
                }
            }
        }
    }

    /// These suffixes, or those of the environment and the usual one, with numbers; nothing where they are too long or too many.
    fn suffixes(&self, given: Vec<Argument>) -> Option<Vec<String>> {
        let usual = || self.suffixes.iter().cloned().chain([Argument::known("~")]).collect();
        let mut suffixes = affixes(if given.is_empty() { usual() } else { given })?;
        suffixes.push(format!(".~{ANY_CHARACTER}~"));
        suffixes.push(format!(".~{ANY_CHARACTER}{ANY_CHARACTER}~"));
        Some(suffixes)
    }

    /// What `sed -i` and `perl -i` keep. The name takes the place of each star in a suffix, which may lead into another directory.
    fn see_edited(&mut self, name: &str, arguments: &[Argument]) {
        let suffixes = suffixes_in_place(name, arguments);
        if suffixes.is_empty() {
            return;
        }
        let stars = |suffix: &String| suffix.matches('*').count() > STARS || is_marked(suffix);
        let Some(suffixes) = affixes(suffixes).filter(|suffixes| !suffixes.iter().any(stars)) else {
            return self.add(&Argument::unknown(), Use::Write);
        };
        for file in distinct(&programmed(name, arguments).operands).map(stem) {
            let file = &*file;
            let (directory, base) = (&file[..file.len() - last_of(file).len()], last_of(file));
            for suffix in &suffixes {
                if suffix.contains('*') {
                    self.add_made(suffix.replace('*', file), Use::Write);
                    self.add_made(suffix.replace('*', base), Use::Write);
                    self.add_made(format!("{directory}{}", suffix.replace('*', base)), Use::Write);
                } else {
                    self.add_made(format!("{file}{suffix}"), Use::Write);
                }
            }
            if self.is_full() {
                return;
            }
        }
    }

    /// The file that is patched, its backup, and what did not fit. Without one the patch names them.
    fn see_patched(&mut self, arguments: &[Argument]) {
        const NAMED: [&str; 13] = [
            "basename-prefix",
            "directory",
            "fuzz",
            "get",
            "ifdef",
            "input",
            "output",
            "prefix",
            "quoting-style",
            "reject-file",
            "strip",
            "suffix",
            "version-control",
        ];
        for file in values_of(arguments, &["-o", "--output", "-r", "--reject-file"]) {
            self.add(&file, Use::Write);
        }
        for patch in values_of(arguments, &["-i", "--input"]) {
            self.add(&patch, Use::Read);
        }
        let words = positional(arguments, "BDFVYdgioprz", &NAMED);
        self.add_all(words.get(1..2).unwrap_or_default(), Use::Read);
        let before = affixes(values_of(arguments, &["-B", "--prefix"]));
        let between = affixes(values_of(arguments, &["-Y", "--basename-prefix"]));
        let behind = self.suffixes(values_of(arguments, &["-z", "--suffix"]));
        let (Some(before), Some(between), Some(mut behind)) = (before, between, behind) else {
            return self.add(&Argument::unknown(), Use::Write);
        };
        let Some(file) = words.first() else {
            before.iter().for_each(|prefix| self.add_made(format!("{prefix}{ANYTHING}"), Use::Write));
            return;
        };
        self.add(file, Use::Write);
        behind.extend([".orig", ".rej", ""].map(str::to_owned));
        let file = file.marked();
        if (before.len() + 1) * (between.len() + 1) * behind.len() > PATCHED || file.len() > NAME_BYTES {
            return self.add(&Argument::unknown(), Use::Write);
        }
        let (directory, base) = (&file[..file.len() - last_of(file).len()], last_of(file));
        let none = || std::iter::once("");
        for first in before.iter().map(String::as_str).chain(none()) {
            for second in between.iter().map(String::as_str).chain(none()) {
                for third in &behind {
                    self.add_made(format!("{first}{directory}{second}{base}{third}"), Use::Write);
                }
            }
        }
    }

    /// `split` numbers the parts behind a prefix.
    fn see_parts(&mut self, arguments: &[Argument]) {
        let names =
            ["suffix-length", "bytes", "line-bytes", "number", "lines", "separator", "additional-suffix", "filter"];
        let operands = positional(arguments, "abCnlt", &names);
        let prefix = operands.get(1).map_or("x", |word| word.marked());
        let lengths = values_of(arguments, &["-a", "--suffix-length"]);
        let numbers = if lengths.is_empty() {
            vec![digits(2)]
        } else {
            lengths.iter().take(AFFIXES).map(|length| digits(number(length))).collect()
        };
        let Some(mut ends) = affixes(values_of(arguments, &["--additional-suffix"])) else {
            return self.add_made(format!("{prefix}{ANYTHING}"), Use::Write);
        };
        ends.push(String::new());
        for number in &numbers {
            ends.iter().for_each(|end| self.add_made(format!("{prefix}{number}{end}"), Use::Write));
        }
    }

    /// The same of `csplit`, which takes the prefix from an option.
    fn see_sections(&mut self, arguments: &[Argument]) {
        let prefixes = few(values_of(arguments, &["-f", "--prefix"]));
        let lengths = values_of(arguments, &["-n", "--digits"]);
        let formats = values_of(arguments, &["-b", "--suffix-format"]);
        let number = match (formats.last(), lengths.last()) {
            (Some(format), _) => formatted(format.marked()),
            (None, Some(length)) => digits(number(length)),
            (None, None) => digits(2),
        };
        let usual = Argument::known("xx");
        for prefix in prefixes.iter().chain(Some(&usual).filter(|_| prefixes.is_empty())) {
            self.add_made(format!("{}{number}", prefix.marked()), Use::Write);
        }
    }

    /// What `find` removes has one of the names that it looks for, below one of the directories where it begins.
    fn see_found(&mut self, arguments: &[Argument]) {
        let mut names: Vec<String> = Vec::new();
        for pair in arguments.windows(2) {
            let [option, name] = pair else { continue };
            let name = name.marked();
            let found = match option.exact() {
                Some("-name") => found_by(name).to_vec(),
                Some("-iname") => [found_by(name), found_by(&name.to_lowercase())].concat(),
                _ => continue,
            };
            names.extend(found.into_iter().filter(|name| !name.is_empty()));
            names.dedup();
            if names.len() > NAMES || names.iter().map(String::len).sum::<usize>() > NAME_BYTES {
                return self.add(&Argument::unknown(), Use::Delete);
            }
        }
        let starts = few(super::operands::starts_of_find(arguments).into_iter().cloned().collect());
        let here = Argument::known(".");
        for start in starts.iter().chain(Some(&here).filter(|_| starts.is_empty())) {
            for name in &names {
                self.add_made(format!("{}/{name}", start.marked()), Use::Delete);
            }
        }
    }
}

/// Names that `-name` finds. Of a pattern two stand for all: else what rules say of `*secret*` would hold up every such call.
fn found_by(pattern: &str) -> [String; 2] {
    [Some('x'), None].map(|any| {
        let mut name = String::new();
        let mut signs = pattern.chars();
        while let Some(sign) = signs.next().filter(|_| name.len() <= NAME_BYTES) {
            match sign {
                '*' | ANY_NAME => name.extend(any),
                '?' => name.push(ANY_CHARACTER),
                '[' => {
                    name.push(ANY_CHARACTER);
                    if let Some((_, rest)) = signs.as_str().split_once(']') {
                        signs = rest.chars();
                    }
                }
                '\\' => name.extend(signs.next()),
                '/' => {}
                other => name.push(other),
            }
        }
        name
    })
}

/// What an option says that backups in place end with.
fn suffixes_in_place(name: &str, arguments: &[Argument]) -> Vec<Argument> {
    let letters = if name == "perl" { "eEIMmFxCdDi" } else { "efliI" };
    let mut suffixes = Vec::new();
    for (index, word) in arguments.iter().enumerate().take_while(|(_, word)| word.marked() != "--") {
        let text = word.marked();
        let suffix = match cluster(text, letters) {
            Some((_, Some((letter, suffix)))) if letter == 'i' || (letter == 'I' && name != "perl") => suffix,
            None if is_long(text, &["in-place"]) => text.split_once('=').map_or("", |(_, suffix)| suffix),
            Some(_) | None => continue,
        };
        // Of BSD it is the next word.
        let next = arguments.get(index + 1).filter(|next| name != "perl" && next.marked().starts_with('.'));
        match (suffix, next) {
            ("", None) => {}
            ("", Some(next)) => suffixes.push(next.clone()),
            (suffix, _) => suffixes.push(Argument::known(suffix)),
        }
    }
    suffixes
}

/// The texts of a few short suffixes or prefixes; nothing where they are more, or longer.
pub(super) fn affixes(given: Vec<Argument>) -> Option<Vec<String>> {
    let mut texts: Vec<String> = Vec::new();
    for affix in given {
        if affix.marked().len() > AFFIX_BYTES {
            return None;
        }
        if !texts.iter().any(|known| known == affix.marked()) {
            texts.push(affix.marked().to_owned());
        }
        if texts.len() > AFFIXES + 1 {
            return None;
        }
    }
    Some(texts)
}

/// The words, each once.
pub(super) fn distinct<'a>(words: &[&'a Argument]) -> impl Iterator<Item = &'a str> {
    let mut seen = HashSet::new();
    let marked: Vec<&str> = words.iter().map(|word| word.marked()).collect();
    marked.into_iter().filter(move |word| seen.insert(*word))
}

/// The name of which others are made. Of `*.ts` one stands for all: else what rules say of `*secret*` would hold up every backup.
pub(super) fn stem(file: &str) -> Cow<'_, str> {
    let (directory, base) = (&file[..file.len() - last_of(file).len()], last_of(file));
    if base.len() > 1 && base.starts_with(ANY_NAME) && !base.contains(ANYTHING) {
        Cow::Owned(format!("{directory}{}", base.replace([ANY_NAME, ANY_CHARACTER], "x")))
    } else {
        Cow::Borrowed(file)
    }
}

/// The last name of a path, whatever stands behind it.
fn base_of(path: &str) -> &str {
    last_of(path.trim_end_matches('/'))
}

fn last_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn number(word: &Argument) -> usize {
    word.exact().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// So many signs that number a part; any where nobody knows how many.
fn digits(count: usize) -> String {
    if (1..=DIGITS).contains(&count) { String::from(ANY_CHARACTER).repeat(count) } else { ANY_NAME.to_string() }
}

/// What a format such as `%02d.txt` makes of a number.
fn formatted(format: &str) -> String {
    let Some((before, rest)) = format.split_once('%').filter(|_| format.len() <= AFFIX_BYTES) else {
        return ANYTHING.to_string();
    };
    let behind = rest.trim_start_matches(|sign: char| !sign.is_ascii_alphabetic());
    let behind = behind.get(1..).unwrap_or_default();
    if behind.contains('%') { ANYTHING.to_string() } else { format!("{before}{ANY_NAME}{behind}") }
}
