//! Consoles of frameworks, which run the text that they are given, or read: scripts of a project by well-known names.

use super::super::argument::Argument;

/// What such a script runs, where it is told to.
pub(super) fn runs_text(name: &str, rest: &[Argument]) -> Option<String> {
    let base = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
    let program = base(name);
    let bare = program.trim_end_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
    let (script, words) = match bare {
        "php" | "python" | "pypy" => {
            // `python -m django`
            let is_script = |word: &Argument| {
                matches!(
                    base(word.marked()).as_str(),
                    "artisan" | "manage.py" | "django" | "flask" | "-mdjango" | "-mflask"
                )
            };
            let at = rest.iter().take(8).position(is_script)?;
            (base(rest[at].marked()), &rest[at + 1..])
        }
        _ if name.contains('/') || matches!(bare, "artisan" | "manage.py") => (program, rest),
        _ => return None,
    };
    let consoles: &[&str] = match script.as_str() {
        "rails" => &["runner", "r", "console", "c", "dbconsole", "db"],
        "artisan" => &["tinker", "tinke", "tink", "tin", "ti"],
        "manage.py" | "django-admin" | "django" | "-mdjango" => &["dbshell", "shell", "shell_plus"],
        "flask" | "-mflask" => &["shell"],
        _ => return None,
    };
    // Values of options may stand before it.
    let is_own = |word: &Argument| word.marked().starts_with('-');
    let options = words.iter().take_while(|word| is_own(word)).count();
    let mut first = words.iter().skip(options).take(1 + usize::from(options > 0));
    first.any(|word| consoles.contains(&word.marked())).then(|| format!("'{script}' runs text that is not read here"))
}
