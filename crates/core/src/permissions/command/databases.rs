//! Text for the clients of databases: what in it starts programs, or opens other files than its words name.

/// Commands of sqlite3 that run programs, or open files of their own.
const DOT_COMMANDS: &[&str] = &[
    ".ar", ".backup", ".cd", ".clone", ".excel", ".import", ".load", ".log", ".once", ".open", ".out", ".read",
    ".restore", ".save", ".session", ".sh", ".sy", ".trace", ".www",
    // It takes blanks and quotes before the name, and signs by their numbers in these.
    ". ", ".\t", ".\"", ".'", ".\\",
];
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

/// Whether text for the client of a database starts programs or opens other files than its words name: by commands of its own,
/// by pipes of these, by an editor, by functions, or by `COPY` and its kin.
pub(super) fn may_run(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let pipes = |line: &str| {
        let line = line.trim_start();
        line.contains('|')
            && ([".o", ".r", ".i", ".e", ".w"].iter().any(|command| line.starts_with(command)) || line.contains('\\'))
    };
    let words = || lower.split(|character: char| !(character.is_alphanumeric() || character == '_'));
    let has = |known: &[&str]| words().any(|word| known.contains(&word));
    let dots = |line: &str| DOT_COMMANDS.iter().any(|command| line.trim_start().starts_with(command));
    ["system ", "\\!"].iter().any(|sign| lower.contains(sign))
        || has(DATABASE_WORDS)
        || lower.lines().any(dots)
        // `COPY x FROM '/etc/passwd'`, `LOAD DATA INFILE`, `\copy`, `VACUUM INTO 'file'`.
        || (has(&["copy", "vacuum"]) && has(&["from", "to", "into", "program"]))
        || BACKSLASHES.iter().any(|command| lower.contains(command))
        || lower.lines().any(pipes)
}
