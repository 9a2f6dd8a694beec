//! What no agent should do by accident: commands told by what they do, not by how they are spelled.
//!
//! The list covers the whole machine (deleting `/`, home or a mount; raw devices; file-system tools; shutdown; services,
//! users and kernel modules; other users' rights) and nothing that a project needs. It is a seat belt: see the module
//! above for what it cannot hold.

use std::collections::HashSet;

use super::allow::is_option;
use super::argument::{ANY_NAME, Argument};
use super::paths::{Places, may_match};
use super::{ending, git, rights};

/// Commands that are never a project's business, and what they do (TT-23, JV-8).
const COMMANDS: &[(&[&str], &str)] = &[
    (
        &[
            "sudo", "su", "doas", "pkexec", "runuser", "newgrp", "sg", "setpriv", "visudo", "sudoedit", "sudo-rs",
            "su-rs", "run0", "dzdo", "sulogin", "gosu", "su-exec", "pfexec", "ksu", "gksu", "gksudo", "kdesu", "capsh",
            "setcap",
        ],
        "takes another user's rights",
    ),
    (&["chroot", "nsenter", "unshare", "pivot_root"], "changes what the machine looks like"),
    (&["reboot", "shutdown", "halt", "poweroff", "init", "telinit", "kexec"], "stops or restarts the machine"),
    (&["mount", "umount", "swapon", "swapoff", "losetup", "cryptsetup"], "changes mounted file systems"),
    (
        &[
            "fdisk",
            "sfdisk",
            "cfdisk",
            "gdisk",
            "sgdisk",
            "parted",
            "fsck",
            "mkswap",
            "mke2fs",
            "mkdosfs",
            "mkntfs",
            "mkexfatfs",
            "mkudffs",
            "mkreiserfs",
            "wipefs",
            "newfs",
            "blkdiscard",
            "hdparm",
            "e2fsck",
            "tune2fs",
            "resize2fs",
            "debugfs",
            "badblocks",
            "mdadm",
            "dmsetup",
            "lvremove",
            "vgremove",
            "pvremove",
            "pvcreate",
            "partx",
            "kpartx",
            "sg_format",
        ],
        "changes disks",
    ),
    (
        &["service", "systemctl", "systemd", "systemd-run", "loginctl", "launchctl", "rc-service"],
        "controls services of the machine",
    ),
    (
        &[
            "iptables",
            "ip6tables",
            "iptables-save",
            "iptables-restore",
            "nft",
            "ufw",
            "ifconfig",
            "route",
            "ifup",
            "ifdown",
            "dhclient",
            "dhcpcd",
            "udhcpc",
        ],
        "changes the network of the machine",
    ),
    (&["crontab", "at", "batch"], "starts something later, outside this call"),
    (
        &[
            "useradd", "userdel", "usermod", "adduser", "deluser", "groupadd", "groupdel", "passwd", "chpasswd",
            "chsh", "chfn", "vipw", "vigr", "gpasswd", "groupmod", "chage", "newusers",
        ],
        "changes users",
    ),
    (&["adjtimex", "chronyd", "ntpd", "rdate"], "sets the clock of the machine"),
    (&["modprobe", "rmmod", "insmod", "lsmod", "depmod", "kmod"], "touches kernel modules"),
    (&["chown", "chgrp"], "gives files to another user"),
];

/// Devices that a command may write to: they keep nothing, or are its own terminal.
const HARMLESS_DEVICES: [&str; 9] = ["null", "zero", "full", "tty", "stdin", "stdout", "stderr", "random", "urandom"];

/// Whether what is poured into this path is kept nowhere, or goes where the command's own output goes.
pub(super) fn is_sink(normal: &str) -> bool {
    let Some(device) = normal.strip_prefix("/dev/") else { return false };
    let is_descriptor = |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    HARMLESS_DEVICES.contains(&device) || device.strip_prefix("fd/").is_some_and(is_descriptor)
}

/// Directories of the system: nothing below them is deleted as a tree, unless a root lies there.
const SYSTEM: [&str; 15] = [
    "/var/lib", "/etc", "/usr", "/bin", "/sbin", "/boot", "/lib", "/lib32", "/lib64", "/sys", "/proc", "/dev",
    "/System", "/Library", "/opt",
];

/// Whether a program is denied whatever its words are.
pub(super) fn is_denied(name: &str) -> bool {
    COMMANDS.iter().any(|(names, _)| names.contains(&name))
}

/// Why a command is dangerous, when it is. `name` is that of [`super::unwrap::command_name`].
pub(super) fn judge(name: &str, arguments: &[Argument], places: &Places<'_>) -> Option<String> {
    for &(names, what) in COMMANDS {
        if names.contains(&name) {
            return Some(format!("'{name}' {what}"));
        }
    }
    if name == "mkfs" || name.starts_with("mkfs.") || name.starts_with("fsck.") || name.starts_with("newfs_") {
        return Some(format!("'{name}' makes or changes a file system"));
    }
    match name {
        "rm" | "unlink" | "shred" | "rmdir" | "srm" | "wipe" | "rimraf" | "trash" | "trash-put" => {
            remove(name, arguments, places)
        }
        "rsync" if arguments.iter().any(|word| word.marked().starts_with("--del")) => {
            operands(arguments).last().and_then(|word| places.whole(word)).map(|what| format!("'rsync' deletes {what}"))
        }
        "tar" if has_option(arguments, "", "remove-files") => operands(arguments)
            .find_map(|word| places.whole(word))
            .map(|what| format!("'tar --remove-files' deletes {what}")),
        "setfacl" | "chattr" => operands(arguments)
            .filter(|word| !places.is_own(word))
            .find_map(|word| places.whole(word))
            .map(|what| format!("'{name}' changes the rights of {what}")),
        "sort" => after(arguments, &["-o", "--output"]).find_map(|word| device_write(word, places)),
        "git" => git_output(arguments, places).or_else(|| git_tree(arguments, places)),
        "zip" if has_option(arguments, "m", "move") => {
            operands(arguments).find_map(|word| places.whole(word)).map(|what| format!("'zip -m' deletes {what}"))
        }
        "rsync" if arguments.iter().any(|word| word.marked().starts_with("--remove-s")) => {
            let words: Vec<&Argument> = operands(arguments).collect();
            let what = words.split_last()?.1.iter().find_map(|word| places.whole(word))?;
            Some(format!("'rsync --remove-source-files' deletes {what}"))
        }
        "find" => find(arguments, places),
        "mv" => operands(arguments).find_map(|word| device_write(word, places)).or_else(|| {
            let what = moved(arguments).into_iter().find_map(|word| places.whole(word))?;
            Some(format!("'mv' moves {what} away"))
        }),
        "chmod" => chmod(arguments, places),
        "dd" => arguments.iter().find_map(|word| {
            word.marked().strip_prefix("of=").and_then(|target| device_write(&Argument::known(target), places))
        }),
        "install" if rights::installs(arguments) => {
            Some("'install' lets a program run with its owner's rights, or its group's".to_owned())
        }
        // `cp a b` reads one and writes one; a device is hardly ever only read.
        "tee" | "cp" | "install" | "truncate" | "ln" => operands(arguments).find_map(|word| device_write(word, places)),
        "sysctl" => {
            let sets = arguments.iter().any(|word| word.marked().contains('=')) || has_option(arguments, "wp", "write");
            sets.then(|| "'sysctl' changes settings of the operating system's kernel".to_owned())
        }
        "cmake" if arguments.first().is_some_and(|word| word.exact() == Some("-E")) => {
            let words = arguments.get(2..).unwrap_or_default();
            let removes =
                matches!(arguments.get(1).and_then(Argument::exact), Some("rm" | "remove_directory" | "remove"));
            if removes { remove("rm", words, places) } else { None }
        }
        "kill" | "killall5" | "pkill" | "killall" | "skill" | "fuser" => {
            ending::ends_all(name, arguments, places).then(|| format!("'{name}' ends every process"))
        }
        "mknod" => {
            let is_kind = |word: &Argument| matches!(word.exact(), Some("b" | "c" | "u"));
            operands(arguments)
                .skip(1)
                .find(|word| is_kind(word))
                .map(|_| "'mknod' gives a device another name".to_owned())
        }
        "zpool" | "zfs" | "nvme" => {
            let destroys = matches!(
                operands(arguments).next().and_then(Argument::exact),
                Some("destroy" | "labelclear" | "format" | "sanitize")
            );
            destroys.then(|| format!("'{name}' destroys what disks hold"))
        }
        _ => None,
    }
}

/// Deleting or overwriting the files of a tree that is no repository of anybody's: home, or the whole machine.
fn git_tree(arguments: &[Argument], places: &Places<'_>) -> Option<String> {
    const WRITERS: [&str; 6] = ["checkout", "clean", "reset", "restore", "rm", "stash"];
    let mut words = arguments.iter().map(Argument::marked);
    let verb = loop {
        match words.next()? {
            word if word == "-c" || git::VALUES.contains(&word) => drop(words.next()),
            word if word.starts_with('-') => {}
            word => break word,
        }
    };
    // What is taken off the index alone, another branch, and changes that are put aside.
    let words: Vec<&str> = words.collect();
    let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
    let is_harmless = match verb {
        "rm" => has(&["--cached"]),
        "checkout" => has(&["-b", "-B"]) && !has(&["-f", "--force", "--"]),
        "stash" => !has(&["-u", "-a", "--all", "--include-untracked"]),
        _ => false,
    };
    if !WRITERS.contains(&verb) || is_harmless {
        return None;
    }
    let glued = arguments.iter().filter_map(|word| {
        let (option, tree) = word.marked().split_once('=')?;
        (option == "--work-tree").then(|| Argument::known(tree))
    });
    let what = after(arguments, &["-C", "--work-tree"]).cloned().chain(glued).find_map(|tree| places.whole(&tree))?;
    Some(format!("'git {verb}' deletes or overwrites {what}"))
}

/// What git writes at a place that its words name: all else it does inside of the repository.
fn git_output(arguments: &[Argument], places: &Places<'_>) -> Option<String> {
    let glued = arguments.iter().filter_map(|word| {
        let (option, file) = word.marked().split_once('=')?;
        (option.starts_with("--o") && "--output".starts_with(option)).then(|| Argument::known(file))
    });
    let bundle = match arguments {
        [first, second, ..] if first.exact() == Some("bundle") && second.exact() == Some("create") => &arguments[2..],
        _ => &[],
    };
    let apart = after(arguments, &["-o", "--output", "--outpu", "--outp", "--out", "--ou"]).chain(bundle);
    apart.cloned().chain(glued).find_map(|file| device_write(&file, places))
}

/// Why writing to `target` is dangerous, when it is.
pub(super) fn device_write(target: &Argument, places: &Places<'_>) -> Option<String> {
    places.all(target.marked()).iter().find_map(|path| device_at(path, target))
}

fn device_at(normal: &str, target: &Argument) -> Option<String> {
    if normal.starts_with("/proc/") && normal.ends_with("/mem") {
        return Some("it writes into the memory of a process".to_owned());
    }
    if normal == "/proc/sysrq-trigger" || normal.starts_with("/sys/power/") {
        return Some("it stops or restarts the machine".to_owned());
    }
    if normal.starts_with("/proc/sys/") || normal.starts_with("/sys/") {
        return Some("it changes settings of the operating system's kernel".to_owned());
    }
    let (directory, device) = normal.strip_prefix('/')?.split_once('/')?;
    if directory != "dev" && target.marked().starts_with('/') && may_match(directory, "dev") {
        return Some(format!("it writes to '{}', which may be a device", target.shown()));
    }
    let device = Some(device).filter(|_| directory == "dev")?;
    let harmless = HARMLESS_DEVICES.contains(&device)
        || ["fd/", "pts/", "shm/", "tcp/", "udp/"].iter().any(|directory| device.starts_with(directory));
    (!harmless).then(|| format!("it writes to the device '/dev/{}'", Argument::known(device).shown()))
}

/// What `mv` takes away: all but where it puts it.
fn moved(arguments: &[Argument]) -> Vec<&Argument> {
    let is_target = |word: &Argument| {
        let text = word.marked();
        !text.contains('=') && (is_option(text, "--target-directory") || (text.ends_with('t') && is_option(text, "-t")))
    };
    let behind = |index: usize| index.checked_sub(1).and_then(|before| arguments.get(before)).is_some_and(is_target);
    let has_target = |text: &str| is_option(text, "-t") || is_option(text, "--target-directory");
    if arguments.iter().any(|word| has_target(word.marked())) {
        let rest = arguments.iter().enumerate().filter(|(index, _)| !behind(*index)).map(|(_, word)| word);
        return rest.filter(|word| !word.marked().starts_with('-')).collect();
    }
    let words: Vec<&Argument> = operands(arguments).collect();
    match words.as_slice() {
        [sources @ .., _] if !sources.is_empty() => sources.to_vec(),
        _ => words,
    }
}

/// The words behind one of these options.
fn after<'a>(arguments: &'a [Argument], options: &'a [&'a str]) -> impl Iterator<Item = &'a Argument> {
    let pairs = arguments.windows(2);
    pairs.filter(move |pair| pair[0].exact().is_some_and(|word| options.contains(&word))).map(|pair| &pair[1])
}

pub(super) fn operands(arguments: &[Argument]) -> impl Iterator<Item = &Argument> {
    let mut only_operands = false;
    arguments.iter().filter(move |word| {
        if !only_operands && word.marked() == "--" {
            only_operands = true;
            return false;
        }
        only_operands || !word.marked().starts_with('-') || word.marked() == "-"
    })
}

/// Whether one of the short letters, or the long option or a beginning of it, is among the options.
pub(super) fn has_option(arguments: &[Argument], letters: &str, long: &str) -> bool {
    arguments.iter().map(Argument::marked).take_while(|word| *word != "--").any(|word| {
        match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(name), _) => !name.is_empty() && long.starts_with(name),
            (None, Some(short)) => short.chars().any(|letter| letters.contains(letter)),
            (None, None) => false,
        }
    })
}

fn remove(name: &str, arguments: &[Argument], places: &Places<'_>) -> Option<String> {
    let recursive = name == "rm" && has_option(arguments, "rR", "recursive");
    let mut seen = HashSet::new();
    operands(arguments).filter(|word| seen.insert(word.marked())).find_map(|word| {
        let paths = places.all(word.marked());
        if let Some(reason) = paths.iter().find_map(|path| device_at(path, word)) {
            return Some(reason);
        }
        if let Some(what) = places.whole_at(word, &paths) {
            return Some(format!("'{name}' deletes {what}"));
        }
        if recursive && places.within_system(&paths, &SYSTEM) {
            return Some(format!("'{name}' deletes '{}', a part of the operating system", word.shown()));
        }
        None
    })
}

fn find(arguments: &[Argument], places: &Places<'_>) -> Option<String> {
    if let Some(reason) =
        after(arguments, &["-fprint", "-fprint0", "-fprintf", "-fls"]).find_map(|word| device_write(word, places))
    {
        return Some(reason);
    }
    let filtered = deletes_filtered(arguments)?;
    let starts: Vec<&Argument> = arguments
        .iter()
        .skip_while(|word| matches!(word.exact(), Some("-H" | "-L" | "-P")))
        .take_while(|word| !word.marked().starts_with(['-', '(', '!']))
        .collect();
    let here = Argument::known(".");
    let starts = if starts.is_empty() { vec![&here] } else { starts };
    starts.into_iter().find_map(|start| {
        let what = places.whole(start)?;
        // `find . -name '*.pyc' -delete` cleans a project; a test does not make the same harmless in `/`.
        (!filtered || !places.is_own(start)).then(|| format!("'find' deletes {what}"))
    })
}

/// Whether a test of names, times or sizes stands before everything that deletes; `None` where nothing deletes.
fn deletes_filtered(arguments: &[Argument]) -> Option<bool> {
    const TESTS: [&str; 12] = [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-regex",
        "-iregex",
        "-empty",
        "-mtime",
        "-mmin",
        "-newer",
        "-size",
    ];
    let word = |index: usize| arguments.get(index).and_then(Argument::exact).unwrap_or_default();
    let mut deletes = false;
    let mut all_filtered = true;
    let mut filtered = false;
    let mut depth = 0_usize;
    for index in 0..arguments.len() {
        match word(index) {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            // What stands behind an "or" knows nothing of the tests before it.
            "-o" | "-or" | "," if depth == 0 => filtered = false,
            "!" | "-not" => {}
            test if TESTS.contains(&test) => {
                let negated = index > 0 && matches!(word(index - 1), "!" | "-not");
                // Without quotes the shell puts names of files for a pattern: perhaps those of all.
                let pattern = arguments.get(index + 1).map(Argument::marked).unwrap_or_default();
                filtered |= !negated && !is_any(pattern) && !is_everything(pattern);
            }
            "-delete" => {
                deletes = true;
                all_filtered &= filtered;
            }
            "-exec" | "-execdir"
                if matches!(word(index + 1).rsplit('/').next(), Some("rm" | "unlink" | "shred" | "rmdir")) =>
            {
                deletes = true;
                all_filtered &= filtered;
            }
            _ => {}
        }
    }
    deletes.then_some(all_filtered)
}

/// Whether a pattern of `find` fits every name.
fn is_any(pattern: &str) -> bool {
    !pattern.is_empty() && pattern.bytes().all(|byte| b"*?./+^$0".contains(&byte))
}

fn chmod(arguments: &[Argument], places: &Places<'_>) -> Option<String> {
    // A mode such as `-x` looks like an option.
    let recursive = has_option(arguments, "R", "recursive");
    let words: Vec<&Argument> = operands(arguments).collect();
    if rights::changes(arguments) {
        return Some("'chmod' lets a program run with its owner's rights, or its group's".to_owned());
    }
    // The mode is no path, however it looks from `/`.
    let is_mode = |word: &str| word.bytes().all(|byte| b"01234567ugoarwxXst+-=,".contains(&byte));
    let modes = usize::from(words.len() > 1 && words.first().and_then(|word| word.exact()).is_some_and(is_mode));
    words.into_iter().skip(modes).find_map(|word| {
        if recursive && places.within_system(&places.all(word.marked()), &SYSTEM) {
            return Some(format!("'chmod' changes the mode of '{}', a part of the operating system", word.shown()));
        }
        let what = places.whole(word)?;
        let own = places.is_own(word);
        // `chmod 755 .` changes one directory of a project; `chmod -R` of it is a mistake with some cost, not a disaster.
        (!own && (recursive || places.is_root(word))).then(|| format!("'chmod' changes the mode of {what}"))
    })
}

/// Whether a path's last name is a pattern that stands for everything in its directory.
pub(super) fn is_everything(name: &str) -> bool {
    let any: String = [ANY_NAME].iter().collect();
    !name.is_empty()
        && name.contains(ANY_NAME)
        && name.chars().all(|character| matches!(character, ANY_NAME | super::argument::ANY_CHARACTER | '.'))
        || name == any
}
