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
        || (client == "duckdb" && loads(text))
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

/// Whether a statement of a text has duckdb load a program, or fetch one.
pub(super) fn loads(text: &str) -> bool {
    // A comment may stand before it.
    let mut statements = text.split([';', '\n']).flat_map(|statement| statement.split("*/"));
    statements.any(|statement| {
        let mut words = statement.split_whitespace();
        let mut first = words.next().unwrap_or_default();
        let mut next = words.next().unwrap_or_default();
        if first.eq_ignore_ascii_case("force") {
            (first, next) = (next, words.next().unwrap_or_default());
        }
        let is_order = ["load", "install"].iter().any(|order| first.eq_ignore_ascii_case(order));
        // Else it is the name of a column.
        is_order
            && next.starts_with(|sign: char| {
                sign.is_alphanumeric() || "'\"$_/*".contains(sign) || !sign.is_ascii_graphic()
            })
            && !["as", "from"].iter().any(|word| next.eq_ignore_ascii_case(word))
    })
}

/// Whether a word of a program that is not known has an order that starts programs, should it print that.
pub(super) fn speaks(word: &str) -> bool {
    let is_order = |order: &str| order.len() > 1 && ["shell", "system"].iter().any(|full| full.starts_with(order));
    word.contains("\\!")
        || word.match_indices('.').any(|(at, _)| {
            let is_begun = at == 0 || !word[..at].ends_with(char::is_alphanumeric);
            let name = word[at + 1..].bytes().take_while(u8::is_ascii_alphabetic).take(7).count();
            let behind = &word[at + 1..];
            is_begun && is_order(&behind[..name]) && behind[name..].starts_with([' ', '\t'])
        })
}

/// Long options of clients that take no value.
const FLAGS: &[&str] = &[
    "-batch",
    "-box",
    "-column",
    "-csv",
    "-header",
    "-json",
    "-line",
    "-list",
    "-markdown",
    "-noheader",
    "-readonly",
    "-table",
    "-tabs",
    "--batch",
    "--csv",
    "--no-align",
    "--no-psqlrc",
    "--quiet",
    "--raw",
    "--silent",
    "--skip-column-names",
    "--table",
    "--tuples-only",
];

/// Whether such a client reads its input: not where it is told by a word what to do.
pub(super) fn reads_input(client: &str, words: &[Argument]) -> bool {
    let words: Vec<&str> = words.iter().map(Argument::marked).take_while(|word| *word != "--").collect();
    let names_input = |word: &&str| word.ends_with('-') || word.contains("/fd/") || word.contains("stdin");
    if words.iter().any(names_input) {
        return true;
    }
    let (told, flags): (&[&str], &str) = match client {
        "psql" => (&["-c", "-f", "--command", "--file"], "01AEHSWXabenqstwxz"),
        "mysql" | "mariadb" => (&["-e", "--execute"], "ABCGHNXfinqrstvw"),
        "duckdb" => (&["-c", "-s"], ""),
        _ => (&[], ""),
    };
    let has_letters = matches!(client, "psql" | "mysql" | "mariadb");
    let takes_next = |word: &str| match word.strip_prefix('-') {
        None => false,
        Some(_) if FLAGS.contains(&word) => false,
        Some(letters) if has_letters && !letters.starts_with('-') => {
            // The first letter that takes a value takes what stands behind it.
            letters.find(|letter| !flags.contains(letter)).is_some_and(|at| at + 1 == letters.len())
        }
        Some(long) => !(long.starts_with('-') && long.contains('=')),
    };
    let mut operands = 0;
    for (at, word) in words.iter().enumerate() {
        // It may be the value of an option.
        if at > 0 && takes_next(words[at - 1]) {
            continue;
        }
        if told.contains(word) && at + 1 < words.len() {
            return false;
        }
        operands += usize::from(!word.starts_with('-'));
    }
    !(matches!(client, "sqlite3" | "sqlite" | "duckdb") && operands > 1)
}
