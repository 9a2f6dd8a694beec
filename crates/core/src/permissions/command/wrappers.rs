//! What is known of programs that run others: how their own arguments end, and which of them are not read here.

/// How a wrapper's own arguments end.
pub(super) struct Wrapper {
    pub(super) names: &'static [&'static str],
    /// Short options that take the next word, unless their value is glued to them.
    pub(super) short: &'static str,
    /// Long options that take the next word, unless they hold a `=`.
    pub(super) long: &'static [&'static str],
    /// Words before the command that are not options.
    pub(super) operands: usize,
}

pub(super) const WRAPPERS: [Wrapper; 15] = [
    Wrapper {
        names: &["nohup", "builtin", "setsid", "unbuffer", "busybox", "toybox", "coproc"],
        short: "",
        long: &[],
        operands: 0,
    },
    Wrapper { names: &["exec"], short: "a", long: &[], operands: 0 },
    Wrapper { names: &["command"], short: "", long: &[], operands: 0 },
    Wrapper { names: &["time"], short: "fo", long: &["--format", "--output"], operands: 0 },
    Wrapper { names: &["nice"], short: "n", long: &["--adjustment"], operands: 0 },
    Wrapper { names: &["ionice"], short: "cnt", long: &["--class", "--classdata"], operands: 0 },
    Wrapper { names: &["timeout"], short: "ks", long: &["--kill-after", "--signal"], operands: 1 },
    Wrapper { names: &["stdbuf"], short: "ioe", long: &["--input", "--output", "--error"], operands: 0 },
    Wrapper { names: &["taskset", "chrt"], short: "TPD", long: &[], operands: 1 },
    Wrapper { names: &["caffeinate"], short: "tw", long: &[], operands: 0 },
    Wrapper {
        names: &["sudo", "doas"],
        short: "ugChprtTDRUca",
        long: &["--user", "--group", "--host", "--chdir"],
        operands: 0,
    },
    Wrapper { names: &["chroot"], short: "", long: &[], operands: 1 },
    Wrapper { names: &["strace", "ltrace"], short: "abeEIoOpPsSuUX", long: &[], operands: 0 },
    Wrapper { names: &["flock"], short: "wE", long: &["--timeout", "--wait", "--conflict-exit-code"], operands: 1 },
    Wrapper {
        names: &["xargs"],
        short: "adEIJLnPRSs",
        long: &["--arg-file", "--delimiter", "--max-args", "--max-procs", "--max-chars", "--process-slot-var"],
        operands: 0,
    },
];

/// Long options of wrappers that take no further word. Any other might take the name of the command for its value.
pub(super) const FLAGS: [&str; 34] = [
    "append",
    "close",
    "ctty",
    "debug",
    "eof",
    "exclusive",
    "exit",
    "foreground",
    "fork",
    "help",
    "ignore",
    "ignore-environment",
    "interactive",
    "list",
    "max-lines",
    "no-fork",
    "no-run-if-empty",
    "nonblock",
    "nonblocking",
    "null",
    "open-tty",
    "portability",
    "preserve-status",
    "quiet",
    "replace",
    "shared",
    "show-limits",
    "unlock",
    "verbose",
    "version",
    "wait",
    "non-interactive",
    "preserve-env",
    "stdin",
];

/// Programs that start others in ways that are not read here.
pub(super) const OPAQUE: [&str; 27] = [
    "bwrap",
    "chronic",
    "cpulimit",
    "dbus-run-session",
    "dtach",
    "entr",
    "expect",
    "fakeroot",
    "firejail",
    "gdb",
    "hyperfine",
    "lldb",
    "numactl",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "rlwrap",
    "run-parts",
    "screen",
    "setarch",
    "socat",
    "ssh",
    "start-stop-daemon",
    "tmux",
    "torsocks",
    "xvfb-run",
];

/// Shells whose language the parser reads.
pub(super) const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "busybox-sh"];
/// Shells with a language of their own.
pub(super) const FOREIGN_SHELLS: [&str; 8] = ["fish", "csh", "tcsh", "pwsh", "powershell", "nu", "xonsh", "elvish"];
/// Interpreters, and the letters of the options that hand them program text.
pub(super) const INTERPRETERS: [(&str, &str); 12] = [
    ("python", "c"),
    ("pypy", "c"),
    ("node", "ep"),
    ("nodejs", "ep"),
    ("deno", ""),
    ("bun", "ep"),
    ("perl", "eE"),
    ("ruby", "e"),
    ("php", "rBRE"),
    ("lua", "e"),
    ("osascript", "e"),
    ("tclsh", ""),
];
pub(super) const INTERPRETER_OPTIONS: [&str; 4] = ["--eval", "--print", "--command", "--run"];

/// Variables that change which programs run, or what they load.
pub(super) fn is_poison(name: &str) -> bool {
    const NAMES: [&str; 26] = [
        "PATH",
        "IFS",
        "ENV",
        "BASH_ENV",
        "SHELLOPTS",
        "BASHOPTS",
        "PROMPT_COMMAND",
        "PS4",
        "CDPATH",
        "SHELL",
        "EDITOR",
        "VISUAL",
        "PAGER",
        "MANPAGER",
        "BROWSER",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PYTHONSTARTUP",
        "PYTHONPATH",
        "PYTHONHOME",
        "PERL5OPT",
        "PERL5LIB",
        "RUBYOPT",
        "RUBYLIB",
        "JAVA_TOOL_OPTIONS",
        "LESSOPEN",
    ];
    NAMES.contains(&name) || ["LD_", "DYLD_", "GIT_", "BASH_FUNC_"].iter().any(|prefix| name.starts_with(prefix))
}
