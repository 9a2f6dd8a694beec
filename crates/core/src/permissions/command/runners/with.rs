//! With what a runner starts something: packages, and environments by their names. They stand in front of what it starts.

use super::super::argument::Argument;

/// Options that take a word which says with what something is started, and not what: packages, and environments by their names.
const WITH: [(&[&str], &[&str]); 3] = [
    (&["uv", "uvx"], &["--with", "--python", "--extra", "--group", "-p"]),
    (&["npx", "npm", "pnpx", "bunx"], &["--package", "-p"]),
    (&["conda", "mamba", "micromamba"], &["--name", "-n"]),
];

/// How many of the first words say with what a runner starts something: an option and its value, which is known.
pub(super) fn length(name: &str, words: &[Argument]) -> usize {
    let is_option = |text: &str| WITH.iter().any(|(names, options)| names.contains(&name) && options.contains(&text));
    let mut words = words.iter().map(Argument::exact);
    let Some(first) = words.next().flatten() else { return 0 };
    if let Some((option, value)) = first.split_once('=') {
        return usize::from(option.starts_with("--") && is_option(option) && is_fetched_by_name(value));
    }
    if is_option(first) && words.next().flatten().is_some_and(is_fetched_by_name) { 2 } else { 0 }
}

/// Whether a word names a package of a registry, or an environment: no file, archive or address.
fn is_fetched_by_name(text: &str) -> bool {
    const ARCHIVES: [&str; 7] = [".bz2", ".gz", ".tar", ".tgz", ".whl", ".xz", ".zip"];
    let is_scope = text.starts_with('@') && text.matches('/').count() == 1;
    text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '@')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"@-_.,=<>[]/".contains(&byte))
        && (is_scope || !text.contains('/'))
        && !ARCHIVES.iter().any(|archive| text.ends_with(archive))
}
