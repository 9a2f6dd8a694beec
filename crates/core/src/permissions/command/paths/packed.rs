//! Programs that name what they make after what they take, and remove that: packers, and those that encrypt and make keys.

use super::super::argument::Argument;
use super::archives::few;
use super::derived::{affixes, distinct, stem};
use super::values::{cluster, is_long, positional, values_of};
use super::{Places, Use};

/// Ends of packed files, and what stands in their place without them.
const ENDS: [(&str, &str); 26] = [
    (".gz", ""),
    ("-gz", ""),
    (".z", ""),
    ("-z", ""),
    ("_z", ""),
    (".Z", ""),
    (".tgz", ".tar"),
    (".taz", ".tar"),
    (".bz2", ""),
    (".bz", ""),
    (".tbz2", ".tar"),
    (".tbz", ".tar"),
    (".xz", ""),
    (".txz", ".tar"),
    (".lzma", ""),
    (".tlz", ".tar"),
    (".lz", ""),
    (".zst", ""),
    (".tzst", ".tar"),
    (".lz4", ""),
    (".tlz4", ".tar"),
    (".lzo", ""),
    (".br", ""),
    (".gpg", ""),
    (".asc", ""),
    (".sig", ""),
];
/// Letters of `tar` that take a value, and its long options that do.
const TAR_LETTERS: &str = "bCfgHIKLNTVX";
const TAR_NAMES: [&str; 15] = [
    "blocking-factor",
    "directory",
    "exclude",
    "exclude-from",
    "file",
    "files-from",
    "format",
    "group",
    "label",
    "listed-incremental",
    "mode",
    "mtime",
    "owner",
    "transform",
    "use-compress-program",
];
/// Options of `gpg` that take the next word.
const GPG_NAMES: [&str; 14] = [
    "cipher-algo",
    "compress-algo",
    "default-key",
    "digest-algo",
    "homedir",
    "hidden-recipient",
    "local-user",
    "output",
    "passphrase",
    "passphrase-fd",
    "passphrase-file",
    "pinentry-mode",
    "recipient",
    "status-fd",
];

/// A program that packs one file into another.
struct Packer {
    /// What the name of a packed file ends with.
    end: &'static str,
    unpacks: bool,
    /// Whether it removes what it took, unless an option says otherwise.
    removes: bool,
    /// Letters of its options that take a value.
    letters: &'static str,
}

fn packer(name: &str) -> Option<Packer> {
    let (end, unpacks, removes, letters) = match name {
        "gzip" => (".gz", false, true, "bS"),
        "pigz" => (".gz", false, true, "bpSIJ"),
        "gunzip" => (".gz", true, true, "S"),
        "unpigz" => (".gz", true, true, "bpSIJ"),
        "compress" => (".Z", false, true, "b"),
        "uncompress" => (".Z", true, true, "b"),
        "bzip2" | "pbzip2" | "lbzip2" => (".bz2", false, true, ""),
        "bunzip2" | "lbunzip2" => (".bz2", true, true, ""),
        "xz" => (".xz", false, true, "TMSFC"),
        "unxz" => (".xz", true, true, "TMSFC"),
        "lzma" => (".lzma", false, true, "TMSFC"),
        "unlzma" => (".lzma", true, true, "TMSFC"),
        "lzip" | "plzip" => (".lz", false, true, "Sbmno"),
        "zstd" | "zstdmt" | "pzstd" => (".zst", false, false, "oDM"),
        "unzstd" => (".zst", true, false, "oDM"),
        "lz4" | "lz4c" => (".lz4", false, false, "D"),
        "unlz4" => (".lz4", true, false, "D"),
        "lzop" => (".lzo", false, false, "Sop"),
        "brotli" => (".br", false, false, "oqwSD"),
        "unbrotli" => (".br", true, false, "oqwSD"),
        _ => return None,
    };
    Some(Packer { end, unpacks, removes, letters })
}

impl Places<'_> {
    pub(super) fn see_packed(&mut self, name: &str, arguments: &[Argument], operands: &[&Argument]) {
        if let Some(packer) = packer(name) {
            return self.see_packer(name, &packer, arguments);
        }
        match name {
            "zip" => self.see_zip(arguments),
            "tar" | "gtar" | "bsdtar" if arguments.iter().any(|word| is_long(word.marked(), &["remove-files"])) => {
                self.see_taken(arguments);
            }
            "gpg" | "gpg2" => self.see_gpg(arguments),
            "ssh-keygen" => self.see_keys(arguments, operands),
            _ => {}
        }
    }

    fn see_packer(&mut self, name: &str, packer: &Packer, arguments: &[Argument]) {
        const NAMES: [&str; 4] = ["suffix", "threads", "memlimit", "output"];
        let has = |letters: &[char], names: &[&str]| {
            let in_cluster =
                |word: &str| cluster(word, packer.letters).is_some_and(|(cluster, _)| cluster.contains(letters));
            arguments
                .iter()
                .take_while(|word| word.marked() != "--")
                .any(|word| is_long(word.marked(), names) || in_cluster(word.marked()))
        };
        if packer.letters.contains('o') {
            for file in values_of(arguments, &["-o", "--output"]) {
                self.add(&file, Use::Write);
            }
        }
        for directory in values_of(arguments, &["--output-dir-flat", "--output-dir-mirror"]) {
            self.add(&directory, Use::Filled);
        }
        let files = positional(arguments, packer.letters, &NAMES);
        if has(&['c', 'l', 't'], &["stdout", "to-stdout", "list", "test"]) {
            return;
        }
        let is_unknown = arguments.iter().any(Argument::is_unknown_option);
        let unpacks = packer.unpacks || is_unknown || has(&['d'], &["decompress", "uncompress"]);
        let packs = is_unknown || !unpacks || has(&['z'], &["compress"]);
        // Some take the name of the other file from the second operand.
        if matches!(name, "lz4" | "lz4c" | "unlz4") && !has(&['m'], &["multiple"]) {
            self.add_all(files.get(1..2).unwrap_or_default(), Use::Write);
        }
        let removes = (packer.removes && !has(&['k'], &["keep"]))
            || (!packer.removes && has(if name == "brotli" { &['j'] } else { &['U'] }, &["rm", "delete"]));
        if unpacks && has(&['N'], &["name"]) {
            // By the name that it had.
            self.add(&Argument::known("."), Use::Filled);
        }
        let given = if packer.letters.contains('S') { values_of(arguments, &["-S", "--suffix"]) } else { Vec::new() };
        let Some(mut ends) = affixes(given) else { return self.add(&Argument::unknown(), Use::Write) };
        ends.push(packer.end.to_owned());
        for file in distinct(&files) {
            if removes {
                self.add(&Argument::known(file), Use::Delete);
            }
            let file = &*stem(file);
            for end in ends.iter().filter(|_| packs) {
                self.add_made(format!("{file}{end}"), Use::Write);
            }
            if unpacks {
                self.add_unpacked(file, &ends, removes);
            }
            if self.is_full() {
                return;
            }
        }
    }

    /// What a packed file becomes; one without such an end is looked for with it.
    fn add_unpacked(&mut self, file: &str, own: &[String], removes: bool) {
        let ends = own.iter().map(|end| (end.as_str(), "")).chain(ENDS);
        let mut is_found = false;
        for (end, instead) in ends {
            if let Some(before) = file.strip_suffix(end).filter(|before| !before.is_empty()) {
                is_found = true;
                self.add_made(format!("{before}{instead}"), Use::Write);
            }
        }
        if !is_found {
            self.add_made(file.to_owned(), Use::Write);
            self.add_made(format!("{file}.out"), Use::Write);
            for end in own {
                self.add_made(format!("{file}{end}"), Use::Read);
                if removes {
                    self.add_made(format!("{file}{end}"), Use::Delete);
                }
            }
        }
    }

    /// The archive gets an end where its name has none, and `-m` removes what is put into it.
    fn see_zip(&mut self, arguments: &[Argument]) {
        const NAMES: [&str; 5] = ["out", "password", "split-size", "suffixes", "temp-path"];
        let mut files = positional(arguments, "bntPOsxi", &NAMES);
        if arguments.iter().any(|word| matches!(word.marked(), "-tt" | "-ttt")) {
            // A date stands behind it.
            files = files.split_off(files.len().min(1));
        }
        let archives = values_of(arguments, &["-O", "--out", "--output-file"]);
        for archive in archives.iter().chain(files.first().copied()) {
            self.add(archive, Use::Write);
            let base = archive.marked().rsplit('/').next().unwrap_or_default();
            if !base.contains('.') && !base.is_empty() && base != "-" {
                self.add_made(format!("{}.zip", archive.marked()), Use::Write);
            }
        }
        let moves = |word: &Argument| {
            let letters = cluster(word.marked(), "bntPOsxi").map_or("", |(letters, _)| letters);
            letters.contains('m') || is_long(word.marked(), &["move"])
        };
        if arguments.iter().any(moves) {
            self.add_all(files.get(1..).unwrap_or_default(), Use::Delete);
        }
    }

    /// `tar` removes what it has packed.
    fn see_taken(&mut self, arguments: &[Argument]) {
        let bundled = arguments.first().map(Argument::marked).filter(|word| !word.starts_with('-'));
        // Behind a first word of letters stand their values.
        let values = bundled.map_or(0, |letters| 1 + letters.matches(|letter| TAR_LETTERS.contains(letter)).count());
        let words = arguments.get(values..).unwrap_or_default();
        let files = positional(words, TAR_LETTERS, &TAR_NAMES);
        self.add_all(&files, Use::Delete);
        for directory in few(values_of(words, &["-C", "--directory"])) {
            self.from(&directory, |places| places.add_all(&files, Use::Delete));
        }
    }

    /// One file, behind all options.
    fn see_gpg(&mut self, arguments: &[Argument]) {
        for file in values_of(arguments, &["-o", "--output"]) {
            self.add(&file, Use::Write);
        }
        let words = positional(arguments, "Norsuz", &GPG_NAMES);
        let has = |letters: &[char], names: &[&str]| {
            let in_cluster = |word: &str| cluster(word, "Noruz").is_some_and(|(cluster, _)| cluster.contains(letters));
            arguments.iter().any(|word| names.contains(&word.marked()) || in_cluster(word.marked()))
        };
        let Some(file) = words.last().map(|word| word.marked()) else { return };
        if has(
            &['c', 'e', 's', 'b'],
            &["--symmetric", "--encrypt", "--sign", "--detach-sign", "--clear-sign", "--clearsign", "--store"],
        ) {
            for end in [".gpg", ".asc", ".sig"] {
                self.add_made(format!("{file}{end}"), Use::Write);
            }
        } else if !has(&['d', 'k', 'K'], &["--decrypt", "--verify", "--import", "--list-keys", "--list-packets"]) {
            for end in [".gpg", ".asc", ".sig"] {
                file.strip_suffix(end).into_iter().for_each(|name| self.add_made(name.to_owned(), Use::Write));
            }
        }
    }

    /// A key lies beside what all may know of it.
    fn see_keys(&mut self, arguments: &[Argument], operands: &[&Argument]) {
        const VALUED: &str = "abCDEfFIJjKmMnNOPrRstTVwWYzZ";
        let has = |letters: &[char]| {
            let in_cluster = |word: &Argument| {
                cluster(word.marked(), VALUED).is_some_and(|(flags, last)| {
                    flags.contains(letters) || last.is_some_and(|(letter, _)| letters.contains(&letter))
                })
            };
            arguments.iter().any(in_cluster)
        };
        let files = values_of(arguments, &["-f"]);
        if has(&['s', 'Y']) {
            for file in operands {
                let key = file.marked();
                self.add_made(format!("{}-cert.pub", key.strip_suffix(".pub").unwrap_or(key)), Use::Write);
                self.add_made(format!("{key}.sig"), Use::Write);
            }
        } else if !has(&['y', 'l', 'e', 'i', 'L', 'B', 'F', 'D', 'Q', 'r']) {
            // Of `-R` and `-H` it is a list of hosts, which is kept by another name.
            let end = if has(&['R', 'H']) { ".old" } else { ".pub" };
            for file in files {
                self.add(&file, Use::Write);
                self.add_made(format!("{}{end}", file.marked()), Use::Write);
            }
        }
    }
}
