//! Files within words, behind signs that one program knows: `@file`, `%output{file}`, `text:file`, `concat:a|b`.

use super::super::argument::Argument;
use super::archives::few;
use super::searches::programmed;
use super::values::{cluster, values_of};
use super::{Places, Use};

/// 40 files that one word may name.
const FILES: usize = 40;
/// 4,096 bytes of the names of modules, which are looked for in each of some directories.
const NAME_BYTES: usize = 4_096;
/// Letters of `curl` that take a value.
const CURL_VALUES: &str = "AbcCdDeEFhHKmoPQrtTuUwxXyYz";
/// Programs of ImageMagick.
const MAGICK: [&str; 12] = [
    "animate",
    "compare",
    "composite",
    "conjure",
    "convert",
    "display",
    "identify",
    "import",
    "magick",
    "mogrify",
    "montage",
    "stream",
];

impl Places<'_> {
    pub(super) fn see_handed(&mut self, name: &str, arguments: &[Argument], operands: &[&Argument]) {
        match name {
            "curl" => self.see_curl(arguments),
            "aws" | "awslocal" | "aws2" => self.see_addresses(arguments),
            "ffmpeg" | "ffprobe" | "ffplay" => self.see_protocols(arguments, operands),
            "jq" | "gojq" | "jaq" => self.see_modules(arguments),
            "yq" => self.see_loads(arguments),
            "openssl" => {
                for file in values_of(arguments, &["-out", "-keyout"]) {
                    self.add(&file, Use::Write);
                }
                for file in arguments.iter().filter_map(|word| word.marked().strip_prefix("file:")) {
                    self.add(&Argument::known(file), Use::Read);
                }
            }
            name if MAGICK.contains(&name) => self.see_images(arguments, operands),
            _ => {}
        }
    }

    /// The files of these words, up to a number of them.
    fn add_files<'w>(&mut self, files: impl Iterator<Item = &'w str>, what: Use) {
        let mut files = files.filter(|file| !file.is_empty());
        for file in files.by_ref().take(FILES) {
            self.add(&Argument::known(file), what);
        }
        if files.next().is_some() {
            self.add(&Argument::unknown(), what);
        }
    }

    fn see_curl(&mut self, arguments: &[Argument]) {
        for format in curl_values(arguments, 'w', &["--write-out"]) {
            if format.marked().starts_with('@') || format.is_dynamic() {
                self.add(&Argument::known(format.marked().trim_start_matches('@')), Use::Read);
            }
            if format.is_dynamic() {
                self.add(&Argument::unknown(), Use::Write);
            }
            let outputs = format.marked().split("%output{").skip(1);
            let files = outputs.map(|rest| rest.split('}').next().unwrap_or_default().trim_start_matches(">>"));
            self.add_files(files, Use::Write);
        }
        // What they send is a text, or a file behind an `@`.
        let mut texts = curl_values(arguments, 'd', &["--data", "--data-ascii", "--data-binary", "--json"]);
        texts.extend(curl_values(arguments, 'H', &["--header", "--proxy-header"]));
        for text in &texts {
            self.add_files(text.marked().strip_prefix('@').into_iter(), Use::Read);
        }
        for text in curl_values(arguments, '\0', &["--data-urlencode", "--url-query", "--variable"]) {
            self.add_files(text.marked().split_once('@').map(|(_, file)| file).into_iter(), Use::Read);
        }
        for file in curl_values(arguments, 'T', &["--upload-file"]) {
            self.add(&file, Use::Read);
        }
        for field in curl_values(arguments, 'F', &["--form"]) {
            let Some((_, value)) = field.marked().split_once('=') else { continue };
            if let Some(files) = value.strip_prefix(['@', '<']) {
                self.add_files(quoted_or_plain(files), Use::Read);
            }
        }
    }

    /// `file://f` of `aws` is `f`, and so is `fileb://f`.
    fn see_addresses(&mut self, arguments: &[Argument]) {
        for word in arguments {
            let behind = ["file://", "fileb://"].map(|scheme| word.marked().split_once(scheme));
            for (_, file) in behind.into_iter().flatten() {
                self.add(&Argument::known(file), Use::Read);
            }
        }
    }

    /// What stands behind the names of protocols; the last word is what is written.
    fn see_protocols(&mut self, arguments: &[Argument], operands: &[&Argument]) {
        const PROTOCOLS: [&str; 11] =
            ["async:", "cache:", "concat:", "concatf:", "crypto:", "fd:", "file:", "md5:", "pipe:", "subfile,", "tee:"];
        let last = operands.last().map(|word| word.marked());
        for text in arguments.iter().map(Argument::marked) {
            if !PROTOCOLS.iter().any(|protocol| text.starts_with(protocol)) {
                continue;
            }
            let files = text.split('|').map(|file| {
                let file = if file.starts_with("subfile,") {
                    file.split_once(",,:").map_or("", |(_, file)| file)
                } else {
                    file
                };
                let mut file = file;
                while let Some(rest) = PROTOCOLS.iter().find_map(|protocol| file.strip_prefix(protocol)) {
                    file = rest;
                }
                file
            });
            let is_output = last == Some(text) && !text.starts_with("concat");
            self.add_files(files, if is_output { Use::Write } else { Use::Read });
        }
    }

    /// `format:file`, `format:@list` and `file[0]`; the last word is what is written.
    fn see_images(&mut self, arguments: &[Argument], operands: &[&Argument]) {
        let last = operands.last().map(|word| word.marked());
        for word in arguments.iter().filter(|word| !word.marked().contains("://")) {
            let text = word.marked();
            let Some((format, file)) = text.split_once(':') else { continue };
            if format.is_empty() || !format.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
                continue;
            }
            let what = if last == Some(text) && operands.len() > 1 { Use::Write } else { Use::Read };
            let file = file.trim_start_matches('@');
            self.add_files([file, file.split('[').next().unwrap_or_default()].into_iter(), what);
        }
    }

    /// What a program of `jq` takes from others: `import "m" as x;` reads `m.jq`, and `as $x` `m.json`.
    fn see_modules(&mut self, arguments: &[Argument]) {
        let Some(program) = programmed("jq", arguments).program else { return };
        let text = program.marked();
        let mut modules = quoted_behind(text, &["import", "include"], true);
        if modules.is_empty() {
            return;
        }
        let mut directories = values_of(arguments, &["-L", "--library-path"]);
        directories.extend(quoted_behind(text, &["search"], false).into_iter().map(Argument::known));
        let mut directories = few(directories);
        directories.push(Argument::known("."));
        directories.extend(self.home.as_ref().map(|home| Argument::known(format!("{home}/.jq"))));
        modules.sort_unstable();
        modules.dedup();
        let bytes: usize = modules.iter().map(|module| module.len()).sum();
        // Signs within a text stand for others.
        if modules.len() > FILES || bytes > NAME_BYTES || modules.iter().any(|module| module.contains('\\')) {
            return self.add(&Argument::unknown(), Use::Read);
        }
        for directory in &directories {
            for module in &modules {
                let base = module.rsplit('/').next().unwrap_or(module);
                for end in [".jq", ".json", &format!("/{base}.jq"), &format!("/{base}.json"), "/jq/main.jq"] {
                    self.add_made(format!("{}/{module}{end}", directory.marked()), Use::Read);
                }
            }
        }
    }

    /// `load("f")` and its kin in a program of `yq`; of what else they take nobody knows the name.
    fn see_loads(&mut self, arguments: &[Argument]) {
        for text in arguments.iter().map(Argument::marked) {
            let calls = text.match_indices("load").filter_map(|(at, load)| {
                let rest = &text[at + load.len()..];
                let rest = rest.trim_start_matches(|sign: char| sign.is_ascii_lowercase() || sign == '_');
                rest.trim_start().strip_prefix('(')
            });
            let files: Vec<&str> = calls.take(FILES + 1).map(|rest| literal(rest.trim_start()).unwrap_or("")).collect();
            if files.iter().any(|file| file.is_empty()) {
                self.add(&Argument::unknown(), Use::Read);
            }
            self.add_files(files.into_iter(), Use::Read);
        }
    }
}

/// The values of a letter and of long options of `curl`, which takes them in clusters.
fn curl_values(arguments: &[Argument], letter: char, names: &[&str]) -> Vec<Argument> {
    let mut values = values_of(arguments, names);
    for (index, word) in arguments.iter().enumerate() {
        match cluster(word.marked(), CURL_VALUES) {
            Some((_, Some((found, "")))) if found == letter => values.extend(arguments.get(index + 1).cloned()),
            Some((_, Some((found, value)))) if found == letter => values.push(Argument::known(value)),
            _ => {}
        }
    }
    values
}

/// The files of a field of a form: a comma parts them, and behind a semicolon stands what is said of one.
fn quoted_or_plain(files: &str) -> impl Iterator<Item = &str> {
    let quoted = files.split('"').skip(1).step_by(2);
    let plain = files.split(',').map(|file| file.split(';').next().unwrap_or_default().trim());
    plain.filter(|file| !file.starts_with('"')).chain(quoted)
}

/// What stands in quotes behind one of these words, which may have to stand where a statement begins.
fn quoted_behind<'t>(text: &'t str, words: &[&str], begins: bool) -> Vec<&'t str> {
    let is_begin = |at: usize| {
        let before = text[..at].trim_end_matches([' ', '\t']);
        !begins || before.is_empty() || before.ends_with([';', '\n'])
    };
    let mut found = Vec::new();
    for word in words {
        let mut places = text.match_indices(word).filter(|(at, _)| is_begin(*at));
        for (at, _) in places.by_ref().take(FILES) {
            let rest = &text[at + word.len()..];
            if rest.trim_start().starts_with('#') {
                found.push("\\");
            }
            let rest = rest.trim_start_matches(|sign: char| sign.is_whitespace() || matches!(sign, ':' | '"'));
            // A text in between begins with its quotes.
            found.extend(rest.split('"').next().filter(|name| !name.is_empty() && name.len() < rest.len()));
        }
        found.extend(places.next().map(|_| "\\"));
    }
    found
}

/// The text in quotes that a text begins with.
fn literal(text: &str) -> Option<&str> {
    let text = text.strip_prefix('"')?;
    text.split_once('"').map(|(literal, _)| literal).filter(|literal| !literal.contains('\\'))
}
