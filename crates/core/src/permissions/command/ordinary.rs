//! Values by which variables that name programs or their options start and load nothing: agents give them all day.

/// Programs that only repeat their input, or do nothing.
const IDLE: [&str; 4] = ["cat", "true", "false", ":"];
const PAGERS: [&str; 8] =
    ["ACK_PAGER", "BAT_PAGER", "DELTA_PAGER", "GH_PAGER", "GIT_PAGER", "MANPAGER", "PAGER", "SYSTEMD_PAGER"];
const EDITORS: [&str; 8] =
    ["EDITOR", "GH_EDITOR", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "HGEDITOR", "KUBE_EDITOR", "SVN_EDITOR", "VISUAL"];
/// What git writes into commits, and whether it asks, locks or fetches more.
const OF_GIT: [&str; 10] = [
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_LFS_SKIP_SMUDGE",
    "GIT_MERGE_AUTOEDIT",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
];
const JAVA: [&str; 9] = [
    "ANT_OPTS",
    "GRADLE_OPTS",
    "JAVA_OPTS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "JRUBY_OPTS",
    "MAVEN_OPTS",
    "SBT_OPTS",
    "_JAVA_OPTIONS",
];
const OF_NODE: [&str; 8] = [
    "--enable-source-maps",
    "--experimental-vm-modules",
    "--no-deprecation",
    "--no-warnings",
    "--openssl-legacy-provider",
    "--throw-deprecation",
    "--trace-deprecation",
    "--trace-warnings",
];
const SIZES_OF_NODE: [&str; 4] =
    ["--max-old-space-size=", "--max_old_space_size=", "--max-semi-space-size=", "--stack-trace-limit="];
const OF_GO: [&str; 6] = ["-mod=mod", "-mod=readonly", "-mod=vendor", "-buildvcs=false", "-count=1", "-trimpath"];
const OF_PYTEST: [&str; 13] = [
    "--color=no",
    "--color=yes",
    "--tb=line",
    "--tb=long",
    "--tb=native",
    "--tb=no",
    "--tb=short",
    "-q",
    "-qq",
    "-s",
    "-v",
    "-vv",
    "-x",
];
const OF_PYTHON: [&str; 6] = ["always", "default", "error", "ignore", "module", "once"];

/// What git tells of itself on its standard errors; as paths they would be files.
const TRACES: [&str; 6] =
    ["GIT_CURL_VERBOSE", "GIT_TRACE", "GIT_TRACE_CURL", "GIT_TRACE_PACKET", "GIT_TRACE_PERFORMANCE", "GIT_TRACE_SETUP"];
/// Where interpreters look for modules: below the working directory they are the project's, as the programs are that load them.
const MODULES: [&str; 2] = ["NODE_PATH", "PYTHONPATH"];

/// Where systems keep them.
const JAVA_HOMES: [&str; 3] = ["/usr/lib/jvm/", "/Library/Java/", "/opt/"];

/// Whether a variable is data whatever it becomes.
pub(super) fn is_data(name: &str) -> bool {
    OF_GIT.contains(&name)
}

/// Whether `text` is such a value. The markers of [`super::argument`] stand in none.
pub(super) fn is_ordinary(name: &str, text: &str) -> bool {
    let all = |is_ordinary: fn(&str) -> bool| text.split(' ').all(is_ordinary);
    match name {
        "NODE_OPTIONS" => all(|word| OF_NODE.contains(&word) || is_number_behind(word, &SIZES_OF_NODE)),
        "GOFLAGS" => all(|word| OF_GO.contains(&word)),
        "MAKEFLAGS" => is_number_behind(text, &["-j"]),
        // Flags without a value.
        "LESS" => text.bytes().all(|byte| b"-FRSXMQinq".contains(&byte)) && !text.contains("--"),
        "PYTHONWARNINGS" => OF_PYTHON.contains(&text),
        "BROWSER" => matches!(text, "none" | "true" | "false" | "cat" | ""),
        "PYTEST_ADDOPTS" => all(|word| OF_PYTEST.contains(&word) || is_number_behind(word, &["--maxfail="])),
        "JAVA_HOME" => JAVA_HOMES.iter().any(|home| text.starts_with(home)) && !text.contains("..") && is_path(text),
        _ if TRACES.contains(&name) => matches!(text, "0" | "1" | "true" | "false"),
        _ if MODULES.contains(&name) => text.split(':').all(is_below),
        _ if JAVA.contains(&name) => all(is_memory_of_java),
        // Without a pager nothing is started.
        _ if PAGERS.contains(&name) && text.is_empty() => true,
        _ if PAGERS.contains(&name) || EDITORS.contains(&name) => IDLE.contains(&text),
        _ => false,
    }
}

/// Whether `text` names places of modules in `directory`, the working one, and below it, as `$PWD/src` does.
pub(super) fn is_of_project(name: &str, text: &str, directory: &str) -> bool {
    let is_there = |path: &str| {
        let rest = path.strip_prefix(directory);
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('/').is_some_and(is_below)) || is_below(path)
    };
    MODULES.contains(&name) && directory.len() > 1 && text.split(':').all(is_there)
}

fn is_path(path: &str) -> bool {
    path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte))
}

/// A directory below the working directory, or that.
fn is_below(path: &str) -> bool {
    let is_name =
        |name: &str| name != ".." && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    !path.is_empty() && !path.starts_with('/') && path.split('/').all(is_name)
}

fn is_number_behind(word: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| word.strip_prefix(beginning).is_some_and(is_number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `-Xmx2g`
fn is_memory_of_java(word: &str) -> bool {
    let size = ["-Xmx", "-Xms", "-Xmn", "-Xss"].iter().find_map(|option| word.strip_prefix(option));
    size.is_some_and(|size| is_number(size.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']).unwrap_or(size)))
}

#[cfg(test)]
mod tests {
    use super::super::variables::is_poison;
    use super::*;

    #[test]
    fn each_of_these_variables_asks_with_any_other_value() {
        let others = [
            "BROWSER",
            "PYTEST_ADDOPTS",
            "NODE_OPTIONS",
            "GOFLAGS",
            "JAVA_HOME",
            "LESS",
            "MAKEFLAGS",
            "PYTHONWARNINGS",
        ];
        let names = [PAGERS.as_slice(), &EDITORS, &OF_GIT, &JAVA, &TRACES, &MODULES, &others].concat();
        assert_eq!(names.iter().filter(|name| !is_poison(name)).collect::<Vec<_>>(), Vec::<&&str>::new());
        let passes =
            |name: &&str| ["/x", "cat ./x", "\n", "../x", "~", "x:"].iter().any(|text| is_ordinary(name, text));
        assert!(!names.iter().any(passes));
    }
}
