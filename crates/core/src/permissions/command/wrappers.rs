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
    Wrapper { names: &["ionice"], short: "cn", long: &["--class", "--classdata"], operands: 0 },
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
    Wrapper { names: &["strace"], short: "abeEIoOpPsSuUX", long: &[], operands: 0 },
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
pub(super) const OPAQUE: [&str; 44] = [
    "ansible",
    "bwrap",
    "chronic",
    "concurrently",
    "cpulimit",
    "dbus-run-session",
    "dc",
    "dtach",
    "ed",
    "emacs",
    "entr",
    "ex",
    "expect",
    "fakeroot",
    "firejail",
    "gdb",
    "hyperfine",
    "lldb",
    "ltrace",
    "lxc-attach",
    "m4",
    "nix-shell",
    "nodemon",
    "numactl",
    "nvim",
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
    "unshare",
    "vi",
    "view",
    "vim",
    "watchexec",
    "xvfb-run",
];

/// Shells whose language the parser reads.
pub(super) const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "busybox-sh"];
/// Those of them that also read words that the parser does not know (`=name`, `repeat`, `noglob`).
pub(super) const SHELLS_WITH_MORE: [&str; 3] = ["zsh", "ksh", "mksh"];
/// Programs of GNU that some systems know by a `g` before their names.
pub(super) const GNU: [&str; 27] = [
    "rm", "rmdir", "mv", "cp", "ln", "dd", "chmod", "chown", "chgrp", "find", "xargs", "env", "nice", "nohup",
    "timeout", "stdbuf", "tee", "sort", "split", "shred", "truncate", "unlink", "install", "chroot", "touch", "cat",
    "make",
];
/// Shells with a language of their own.
pub(super) const FOREIGN_SHELLS: [&str; 8] = ["fish", "csh", "tcsh", "pwsh", "powershell", "nu", "xonsh", "elvish"];
/// Interpreters, and the letters of the options that hand them program text.
pub(super) const INTERPRETERS: [(&str, &str); 24] = [
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
    ("luajit", "e"),
    ("rscript", "e"),
    ("r", "e"),
    ("julia", "eE"),
    ("guile", "ce"),
    ("elixir", "e"),
    ("groovy", "e"),
    ("swift", "e"),
    ("octave", ""),
    ("tsx", "ep"),
    ("ts-node", "ep"),
    ("gnuplot", "e"),
];
pub(super) const INTERPRETER_OPTIONS: [&str; 4] = ["--eval", "--print", "--command", "--run"];

/// Variables that change which programs run, or what they load.
pub(super) fn is_poison(name: &str) -> bool {
    const NAMES: [&str; 34] = [
        "PATH",
        "HOME",
        "MAKEFLAGS",
        "PS0",
        "PERL5DB",
        "GCONV_PATH",
        "SSH_ASKPASS",
        "RUSTC",
        "RUSTC_WRAPPER",
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
    NAMES.contains(&name)
        || ["LD_", "DYLD_", "GIT_", "BASH_FUNC_", "npm_config_", "NPM_CONFIG_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}
