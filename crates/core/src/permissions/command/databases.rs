//! Text for the clients of databases: what in it starts programs, or opens other files than its words name.

use super::argument::Argument;

/// Commands of sqlite3 that run programs, or open files of their own.
const DOT_COMMANDS: &[&str] = &[
    ".ar", ".backup", ".cd", ".clone", ".excel", ".import", ".load", ".log", ".once", ".open", ".out", ".read",
    ".restore", ".save", ".session", ".sh", ".sy", ".trace", ".www",
    // It takes blanks and quotes before the name, and signs by their numbers in these.
    ". ", ".\t", ".\"", ".'", ".\\",
];
/// The same in full. Sqlite3 takes any beginning that is no other's, and these by a letter.
const FULL: &[&str] = &[
    "archive", "backup", "cd", "clone", "import", "load", "log", "once", "open", "output", "read", "restore", "save",
    "session", "shell", "system", "trace", "www",
];
const BY_LETTER: [&str; 3] = ["i", "l", "o"];
/// The same for psql and mysql.
const BACKSLASHES: &[&str] = &["\\i", "\\o", "\\w", "\\g", "\\s ", "\\cd", "\\e", "\\lo_", "\\.", "\\t ", "\\copy"];
/// Functions and statements of databases that do so.
const DATABASE_WORDS: &[&str] = &[
    "attach",
    "edit",
    "fsdir",
    "infile",
    "load_extension",
    "load_file",
    "lo_export",
    "lo_import",
    "outfile",
    "dumpfile",
    "pg_ls_dir",
    "pg_read_binary_file",
    "pg_read_file",
    "readfile",
    "source",
    "tee",
    "writefile",
];

/// Clients of databases, which run commands of their own among what they are given.
pub(super) const CLIENTS: [&str; 6] = ["sqlite3", "sqlite", "duckdb", "psql", "mysql", "mariadb"];

/// Whether a word among those of such a client has it run something: text, or a program that takes its output.
pub(super) fn has_command(client: &str, words: &[Argument]) -> bool {
    let is_output = |option: &str| {
        let long = option.strip_prefix("--");
        long.map_or_else(
            || option.starts_with('-') && option.ends_with('o'),
            |long| long.len() > 1 && "output".starts_with(long),
        )
    };
    let is_piped = |word: &str| {
        let (option, value) = word.split_once('|').map_or((word, None), |(option, value)| (option, Some(value)));
        value.is_some() && is_output(option.strip_suffix('=').unwrap_or(option))
    };
    let pipes = words.iter().any(|word| is_piped(word.marked()))
        || words.windows(2).any(|pair| is_output(pair[0].marked()) && pair[1].marked().starts_with('|'));
    (client == "psql" && pipes) || words.iter().any(|word| word.exact().is_none_or(|text| may_run(client, text)))
}

/// Whether text for such a client starts programs or opens other files than its words name: by commands of its own,
/// by pipes of these, by an editor, by functions, or by `COPY` and its kin.
pub(super) fn may_run(client: &str, text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let pipes = |line: &str| {
        let line = line.trim_start();
        line.contains('|')
            && ([".o", ".r", ".i", ".e", ".w"].iter().any(|command| line.starts_with(command)) || line.contains('\\'))
    };
    let words = || lower.split(|character: char| !(character.is_alphanumeric() || character == '_'));
    let has = |known: &[&str]| words().any(|word| known.contains(&word));
    let dots = |line: &str| DOT_COMMANDS.iter().any(|command| line.trim_start().starts_with(command));
    let has_dots = matches!(client, "sqlite3" | "sqlite" | "duckdb");
    (client == "psql" && text.contains('`'))
        || (has_dots && lower.lines().any(is_cut))
        || ["system ", "\\!"].iter().any(|sign| lower.contains(sign))
        || has(DATABASE_WORDS)
        || lower.lines().any(dots)
        // `COPY x FROM '/etc/passwd'`, `LOAD DATA INFILE`, `\copy`, `VACUUM INTO 'file'`.
        || (has(&["copy", "vacuum"]) && has(&["from", "to", "into", "program"]))
        || BACKSLASHES.iter().any(|command| lower.contains(command))
        || lower.lines().any(pipes)
}

/// Whether a line begins with such a command, cut short.
fn is_cut(line: &str) -> bool {
    let word = line.trim_start().strip_prefix('.').and_then(|line| line.split_ascii_whitespace().next());
    word.is_some_and(|word| {
        (word.len() > 1 || BY_LETTER.contains(&word)) && FULL.iter().any(|command| command.starts_with(word))
    })
}
