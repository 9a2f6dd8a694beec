//! Programs that tell of the network of the machine, and change it by their words.

use super::argument::{ANYTHING, Argument};
use super::deny::{has_option, operands};

/// Programs that change something where their first operand is one of these words.
const VERBS: &[(&str, &[&str])] = &[
    ("brctl", &["addbr", "addif", "delbr", "delif", "hairpin", "setageing", "setbridgeprio", "setfd", "stp"]),
    ("netplan", &["apply", "try", "set", "rebind", "migrate"]),
    ("networkctl", &["delete", "down", "edit", "forcerenew", "reconfigure", "reload", "renew", "up"]),
    ("rfkill", &["block", "unblock", "toggle"]),
    ("wg", &["addconf", "set", "setconf", "syncconf"]),
    ("wg-quick", &["down", "save", "up"]),
];
/// What the programs of `iproute2` do to an object, which takes any beginning of it.
const CHANGES: [&str; 10] =
    ["add", "append", "attach", "change", "delete", "exec", "flush", "prepend", "replace", "restore"];
/// What they only tell: where one word begins both, it is taken for that.
const TOLD: [&str; 9] = ["show", "list", "lst", "ls", "get", "help", "monitor", "identify", "pids"];
/// What `nmcli` does to a connection, or a device.
const MANAGED: [&str; 16] = [
    "add",
    "checkpoint",
    "clone",
    "connect",
    "delete",
    "disconnect",
    "down",
    "edit",
    "import",
    "load",
    "migrate",
    "modify",
    "reapply",
    "reload",
    "set",
    "up",
];

/// What a command does to the network, where it does not only tell of it.
pub(super) fn changes(name: &str, arguments: &[Argument]) -> Option<String> {
    let words = behind_options(arguments, valued(name));
    let first = words.first().copied();
    let is_changed = match name {
        "ip" | "tc" | "bridge" => routes(arguments),
        "nmcli" => manages(arguments),
        "resolvectl" => match first.unwrap_or_default() {
            "dns" | "domain" | "default-route" | "llmnr" | "mdns" | "dnsovertls" | "dnssec" | "nta" => {
                words.iter().filter(|word| !word.starts_with('-')).count() > 2
            }
            "log-level" => words.len() > 1,
            verb => verb == "revert",
        },
        "resolvconf" => has_option(arguments, "adfu", ""),
        "arp" => has_option(arguments, "dfs", ""),
        "iwconfig" => operands(arguments).count() > 1,
        "networksetup" => {
            let verb = arguments.first().and_then(|word| word.marked().strip_prefix('-'));
            let told = ["get", "help", "is", "list", "print", "show", "version"];
            verb.is_some_and(|verb| !told.iter().any(|known| verb.starts_with(known)))
        }
        "ethtool" => sets_card(arguments),
        _ => VERBS.iter().any(|(known, verbs)| *known == name && first.is_some_and(|first| verbs.contains(&first))),
    };
    is_changed.then(|| format!("'{name}' changes the network of the machine"))
}

/// Whether the word that says what is done is known only when it runs.
pub(super) fn may_change(name: &str, arguments: &[Argument]) -> bool {
    let is_unknown = |words: &[&str], deciding: usize| words.iter().take(deciding).any(|word| word.contains(ANYTHING));
    let begins_unknown = arguments.first().is_some_and(Argument::is_dynamic);
    match name {
        "ip" | "tc" | "bridge" | "nmcli" => is_unknown(&behind_options(arguments, valued(name)), 2),
        // Their options say it.
        "ethtool" | "networksetup" | "resolvconf" => begins_unknown,
        // A single word is the machine of which it tells.
        "arp" => begins_unknown && arguments.len() > 1,
        _ if name == "resolvectl" || VERBS.iter().any(|(known, _)| *known == name) => {
            is_unknown(&behind_options(arguments, valued(name)), 1)
        }
        _ => false,
    }
}

/// Options of a program that take the next word.
fn valued(name: &str) -> &'static [&'static str] {
    match name {
        "ip" | "tc" | "bridge" => &["family", "loops", "netns", "rcvbuf"],
        "nmcli" => &["colors", "escape", "fields", "get-values", "mode", "wait"],
        "resolvectl" => &["class", "interface", "protocol", "type"],
        "networkctl" => &["n"],
        _ => &[],
    }
}

/// The words behind options, of which these take the next word, by any beginning.
fn behind_options<'a>(arguments: &'a [Argument], valued: &[&str]) -> Vec<&'a str> {
    let mut words = arguments.iter().map(Argument::marked);
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix('-') else { return std::iter::once(word).chain(words).collect() };
        let option = option.strip_prefix('-').unwrap_or(option);
        if !option.is_empty() && valued.iter().any(|known| known.starts_with(option)) {
            words.next();
        }
    }
    Vec::new()
}

/// `ip link set …`, and orders in a file.
fn routes(arguments: &[Argument]) -> bool {
    let is_batch = |word: &str| {
        let option = word.trim_start_matches('-');
        word.starts_with('-') && !option.is_empty() && "batch".starts_with(option)
    };
    if arguments.iter().map(Argument::marked).take_while(|word| word.starts_with('-')).any(is_batch) {
        return true;
    }
    let words = behind_options(arguments, valued("ip"));
    let Some((object, words)) = words.split_first() else { return false };
    // These are told what of theirs is meant before what is done.
    let is_deep = matches!(*object, "xfrm" | "mptcp" | "sr" | "ioam");
    let verbs = words.iter().take(1 + usize::from(is_deep));
    let is_link = "link".starts_with(*object) && words.len() > 2;
    verbs.into_iter().any(|verb| {
        let is = |known: &[&str]| !verb.is_empty() && known.iter().any(|known| known.starts_with(*verb));
        // For a link `s` is that, and for all others what shows them.
        let sets = is(&["set"]) && (*verb != "s" || is_link);
        sets || (!is(&TOLD) && is(&CHANGES))
    })
}

/// `nmcli networking off`, by any beginnings of its words.
fn manages(arguments: &[Argument]) -> bool {
    let words = behind_options(arguments, valued("nmcli"));
    let word = |index: usize| words.get(index).copied().unwrap_or_default();
    let begins = |index: usize, known: &[&str]| {
        !word(index).is_empty() && known.iter().any(|known| known.starts_with(word(index)))
    };
    let turns = |index: usize| begins(index, &["on", "off"]);
    match word(0).chars().next() {
        Some('n') => turns(1),
        Some('r') => turns(2),
        Some('g') => begins(1, &["reload"]) || (begins(1, &["hostname", "logging"]) && words.len() > 2),
        Some('c' | 'd') => {
            let joins = begins(1, &["wifi"]) && begins(2, &["connect", "hotspot"]);
            joins || (!begins(1, &["show", "status"]) && begins(1, &MANAGED))
        }
        Some(_) | None => false,
    }
}

/// Whether `ethtool` is given an option by which it sets something: the first that says what it does.
fn sets_card(arguments: &[Argument]) -> bool {
    const SHORT: &str = "acdegghiklmnPSTuwx";
    const LONG: [&str; 11] = [
        "dump-module",
        "driver",
        "eeprom-dump",
        "get-",
        "help",
        "include-statistics",
        "json",
        "module-info",
        "phy-statistics",
        "register-dump",
        "show-",
    ];
    let is_told = |word: &str| match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(long), _) => {
            LONG.iter().any(|known| long.starts_with(known)) || matches!(long, "debug" | "statistics" | "version")
        }
        (None, Some(letter)) => letter == "I" || (letter.len() == 1 && SHORT.contains(letter)),
        (None, None) => true,
    };
    arguments.iter().map(Argument::marked).take(4).any(|word| !is_told(word))
}
