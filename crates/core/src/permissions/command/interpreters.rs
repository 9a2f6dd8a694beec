//! Interpreters: which of their options take the word behind them, so that it is no script, and modules that run others.

/// Letters that take the next word where they end theirs, and long options that do.
const VALUED: &[(&str, &str, &[&str])] = &[
    ("python", "WXm", &["--check-hash-based-pycs"]),
    ("pypy", "WXm", &["--jit"]),
    ("perl", "I", &[]),
    ("ruby", "IrCEXK", &["--encoding", "--external-encoding", "--internal-encoding", "--backtrace-limit"]),
    ("php", "cdzt", &["--define", "--php-ini", "--docroot", "--zend-extension"]),
    ("node", "rC", NODE),
    ("lua", "l", &[]),
    ("luajit", "ljO", &[]),
    ("deno", "cL", &["--config", "--import-map", "--lock", "--cert", "--location", "--seed", "--ext", "--log-level"]),
    (
        "bun",
        "rcdl",
        &["--preload", "--require", "--import", "--cwd", "--env-file", "--config", "--conditions", "--filter"],
    ),
];
/// Those of node.
const NODE: &[&str] = &[
    "--allow-fs-read",
    "--allow-fs-write",
    "--build-snapshot-config",
    "--conditions",
    "--cpu-prof-dir",
    "--cpu-prof-interval",
    "--cpu-prof-name",
    "--diagnostic-dir",
    "--disable-proto",
    "--disable-warning",
    "--dns-result-order",
    "--env-file",
    "--env-file-if-exists",
    "--experimental-config-file",
    "--experimental-default-type",
    "--experimental-loader",
    "--experimental-policy",
    "--experimental-sea-config",
    "--heap-prof-dir",
    "--heap-prof-interval",
    "--heap-prof-name",
    "--heapsnapshot-near-heap-limit",
    "--heapsnapshot-signal",
    "--icu-data-dir",
    "--import",
    "--input-type",
    "--inspect-port",
    "--inspect-publish-uid",
    "--loader",
    "--localstorage-file",
    "--max-http-header-size",
    "--openssl-config",
    "--policy-integrity",
    "--redirect-warnings",
    "--report-dir",
    "--report-directory",
    "--report-filename",
    "--report-signal",
    "--require",
    "--secure-heap",
    "--secure-heap-min",
    "--snapshot-blob",
    "--test-concurrency",
    "--test-name-pattern",
    "--test-reporter",
    "--test-reporter-destination",
    "--test-shard",
    "--test-timeout",
    "--title",
    "--tls-cipher-list",
    "--tls-keylog",
    "--trace-event-categories",
    "--trace-event-file-pattern",
    "--trace-require-module",
    "--tsconfig",
    "--unhandled-rejections",
    "--use-largepages",
    "--v8-pool-size",
    "--watch-path",
];
/// Beginnings of options of node that take no further word, where those above are left out.
const NODE_FLAGS: [&str; 16] = [
    "--check",
    "--enable-",
    "--experimental-",
    "--expose-gc",
    "--harmony",
    "--inspect",
    "--interactive",
    "--no-",
    "--preserve-symlinks",
    "--prof",
    "--test",
    "--throw-deprecation",
    "--trace-",
    "--transpile-only",
    "--use-openssl-ca",
    "--watch",
];

/// What the word behind an option is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// The next option, or the program.
    Next,
    /// The value of this one, or that.
    Perhaps,
    /// The value of this one.
    Value,
}

/// What stands behind this option of that interpreter.
pub(super) fn behind(interpreter: &str, option: &str) -> Behind {
    if option.len() < 2 || option == "--" || option.contains('=') {
        return Behind::Next;
    }
    let long = option.starts_with("--");
    let is_node = matches!(interpreter, "node" | "nodejs" | "tsx" | "ts-node");
    let row = if is_node { "node" } else { interpreter };
    let known = VALUED.iter().find(|(known, _, _)| *known == row);
    if let Some((_, letters, options)) = known {
        // In `-bW` the last letter takes the next word; in `-Wignore` the first takes the rest.
        let valued = option.char_indices().skip(1).find(|(_, letter)| letters.contains(*letter));
        let ends = |(position, letter): (usize, char)| position + letter.len_utf8() == option.len();
        if if long { options.contains(&option) } else { valued.is_some_and(ends) } {
            return Behind::Value;
        }
    }
    let is_flag = match (known.is_some(), long) {
        (true, true) => !is_node || NODE_FLAGS.iter().any(|flag| option.starts_with(flag)),
        (true, false) => !matches!(interpreter, "tsx" | "ts-node") || !option.ends_with(['P', 'O', 'I']),
        (false, true) => false,
        (false, false) => !option.ends_with(['r', 'C', 'I', 'L', 'l', 'O', 'P', 'd', 'o']),
    };
    if is_flag { Behind::Next } else { Behind::Perhaps }
}

/// Modules of Python that run the text that they are given: by themselves, or glued to an option (`-mtimeit`, `-Impdb`).
pub(super) fn is_prompting_module(text: &str) -> bool {
    const MODULES: [&str; 8] = ["timeit", "pdb", "code", "asyncio", "IPython", "bpython", "ptpython", "idlelib"];
    // `asyncio.__main__` is that of the package, and `--module=timeit` an option of a module that runs others.
    let name = module(text.strip_prefix("--module=").unwrap_or(text));
    MODULES.contains(&name.split('.').next().unwrap_or_default())
}

/// Modules of Python that run another module, which the words behind them name.
pub(super) fn runs_modules(text: &str) -> bool {
    const MODULES: [&str; 9] =
        ["cProfile", "coverage", "debugpy", "profile", "runpy", "scalene", "trace", "viztracer", "memory_profiler"];
    MODULES.contains(&module(text).split('.').next().unwrap_or_default())
}

fn module(text: &str) -> &str {
    let short = text.strip_prefix('-').filter(|short| !short.starts_with('-'));
    short.and_then(|short| short.split_once('m')).map_or(text, |(_, module)| module)
}
