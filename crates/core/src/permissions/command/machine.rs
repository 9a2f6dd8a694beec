//! Programs that tell of the machine, and change it by their words: its clock, its name, its services.

use super::argument::Argument;
use super::deny::{has_option, operands};

/// What a command sets, when it does.
pub(super) fn sets(name: &str, arguments: &[Argument]) -> Option<String> {
    let what = match name {
        "date" if sets_clock(arguments) => "the clock",
        "timedatectl" if sets_by_verb(arguments, &[]) => "the clock",
        "hwclock" if arguments.iter().any(|word| !reads_clock(word.marked())) => "the clock",
        "ntpdate" if !has_option(arguments, "qd", "help") => "the clock",
        "sntp" if has_option(arguments, "sS", "step") || has_option(arguments, "", "slew") => "the clock",
        // By itself it reads its orders.
        "chronyc" if arguments.iter().any(steps_clock) => "the clock",
        "chronyc" if operands(arguments).next().is_none() && !has_option(arguments, "vh", "version") => "the clock",
        "hostname" | "domainname" | "nisdomainname" | "ypdomainname"
            if operands(arguments).next().is_some() || has_option(arguments, "F", "file") =>
        {
            "the name"
        }
        "hostnamectl" if sets_by_verb(arguments, &["hostname", "icon-name", "chassis", "deployment", "location"]) => {
            "the name"
        }
        "systemsetup" if arguments.iter().any(|word| word.marked().starts_with("-set")) => "the clock or the name",
        "scutil" if has_option(arguments, "", "set") => "the name",
        "localectl" if sets_by_verb(arguments, &[]) => "the language",
        _ => return None,
    };
    Some(format!("'{name}' sets {what} of the machine"))
}

/// Whether a program that changes the machine only tells of it here: all of its words are known, and each only tells.
pub(super) fn only_tells(name: &str, arguments: &[Argument]) -> bool {
    let Some(words) = arguments.iter().map(Argument::exact).collect::<Option<Vec<_>>>() else { return false };
    match (name, words.as_slice()) {
        ("systemctl", words) => tells_of_services(words),
        ("crontab" | "mount", ["-l"]) => true,
        ("iptables" | "ip6tables", words) => tells_of_rules(words),
        _ => false,
    }
}

/// `systemctl status x`: a verb that tells, and no option but how and of what it does. `-H` asks another machine.
fn tells_of_services(words: &[&str]) -> bool {
    const VERBS: [&str; 12] = [
        "cat",
        "get-default",
        "is-active",
        "is-enabled",
        "is-failed",
        "is-system-running",
        "list-dependencies",
        "list-timers",
        "list-unit-files",
        "list-units",
        "show",
        "status",
    ];
    const OPTIONS: [&str; 9] =
        ["--all", "-a", "--full", "-l", "--no-legend", "--no-pager", "--plain", "--quiet", "--user"];
    const VALUED: [&str; 3] = ["--lines=", "--state=", "--type="];
    let is_option = |word: &&str| OPTIONS.contains(word) || VALUED.iter().any(|option| word.starts_with(option));
    let (options, others): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    options.iter().all(is_option) && others.first().is_some_and(|verb| VERBS.contains(verb))
}

/// `iptables -nvL`
fn tells_of_rules(words: &[&str]) -> bool {
    const LISTS: [&str; 5] = ["-L", "-S", "--list", "--list-rules", "--line-numbers"];
    const TABLES: [&str; 5] = ["filter", "mangle", "nat", "raw", "security"];
    let is_cluster = |word: &str| {
        word.strip_prefix('-')
            .is_some_and(|letters| !letters.is_empty() && letters.bytes().all(|letter| b"nvxL".contains(&letter)))
    };
    let is_listing =
        |word: &&str| matches!(*word, "-S" | "--list" | "--list-rules") || (is_cluster(word) && word.ends_with('L'));
    let is_known = |(index, word): (usize, &&str)| {
        let before = index.checked_sub(1).map(|before| &words[before]);
        let is_table = before.is_some_and(|before| *before == "-t") && TABLES.contains(word);
        let is_chain = before.is_some_and(is_listing) && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        LISTS.contains(word) || is_cluster(word) || *word == "-t" || is_table || is_chain
    };
    words.iter().any(is_listing) && words.iter().enumerate().all(is_known)
}

/// Whether a word of `chronyc` holds an order to set the clock: it takes its words for one line, or each for one.
fn steps_clock(word: &Argument) -> bool {
    const ORDERS: [&str; 7] = ["dfreq", "doffset", "makestep", "manual", "settime", "shutdown", "trimrtc"];
    word.marked().split_ascii_whitespace().any(|order| ORDERS.contains(&order))
}

/// Whether a word that nobody knows may have a command set it.
pub(super) fn may_set(name: &str, arguments: &[Argument]) -> bool {
    const VALUES: [&str; 7] = ["-d", "-f", "-r", "-v", "--date", "--file", "--reference"];
    let is_known =
        ["date", "timedatectl", "hostname", "hostnamectl", "hwclock", "chronyc", "localectl"].contains(&name);
    let is_shown = name == "date" && arguments.iter().any(|word| word.marked() == "-j");
    let takes = |text: &str| {
        let cluster = text.strip_prefix('-').and_then(|letters| letters.strip_suffix(['d', 'f', 'r', 'v']));
        VALUES.contains(&text) || cluster.is_some_and(|letters| letters.chars().all(|letter| "uRjn".contains(letter)))
    };
    let is_harmless = |index: usize| {
        let text = arguments[index].marked();
        let is_value = index > 0 && takes(arguments[index - 1].marked());
        name == "date"
            && (is_value
                || text.starts_with('+')
                || VALUES.iter().any(|option| text.starts_with(option) && text != *option))
    };
    is_known && !is_shown && (0..arguments.len()).any(|index| arguments[index].is_dynamic() && !is_harmless(index))
}

/// Whether `hwclock` only tells with this word.
fn reads_clock(word: &str) -> bool {
    const LONG: [&str; 7] = ["show", "get", "verbose", "utc", "localtime", "help", "version"];
    match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(long), _) => LONG.contains(&long),
        (None, Some(letters)) => !letters.is_empty() && letters.chars().all(|letter| "rvulhV".contains(letter)),
        (None, None) => false,
    }
}

/// `-s` by itself or behind letters that take no value, or a time: four digits or more that are no value of an option, or on other
/// systems, where `-f` says how it is written, any word. Behind their `-j` it is only shown.
fn sets_clock(arguments: &[Argument]) -> bool {
    let (mut is_value, mut is_shown, mut has_format) = (false, false, false);
    arguments.iter().map(Argument::marked).any(|word| {
        if std::mem::take(&mut is_value) {
            return false;
        }
        match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(long), _) => {
                let name = long.split('=').next().unwrap_or_default();
                let takes_next = |option: &str| !name.is_empty() && option.starts_with(name) && !long.contains('=');
                is_value = ["date", "reference", "file"].into_iter().any(takes_next);
                !name.is_empty() && "set".starts_with(name)
            }
            (None, Some(letters)) => {
                let end = letters.find(['s', 'd', 'f', 'r', 'v', 'I']).unwrap_or(letters.len());
                is_value = end + 1 == letters.len() && letters[end..].starts_with(['d', 'f', 'r', 'v']);
                is_shown |= letters[..end].contains('j');
                has_format |= letters[end..].starts_with('f');
                letters[end..].starts_with('s')
            }
            (None, None) => {
                let digits = word.split('.').next().unwrap_or_default();
                let is_time = digits.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
                !is_shown && (is_time || (has_format && !word.starts_with('+')))
            }
        }
    })
}

/// Whether a word sets something: `set-time`, or one of these with more behind it.
fn sets_by_verb(arguments: &[Argument], names: &[&str]) -> bool {
    let words: Vec<&str> = operands(arguments).map(Argument::marked).collect();
    let position = words.iter().position(|word| names.contains(word));
    words.iter().any(|word| word.starts_with("set-")) || position.is_some_and(|position| position + 1 < words.len())
}
