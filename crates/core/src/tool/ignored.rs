//! What the tools that honour ignore files say of what those left out.

/// The line of an answer from which `entries` are missing; empty when none are.
pub(super) fn note(entries: u64) -> String {
    let entries = match entries {
        0 => return String::new(),
        1 => "1 entry".to_owned(),
        many => format!("{many} entries"),
    };
    format!("\n({entries} that .gitignore or .ignore exclude left out; `include_ignored` shows them)")
}
