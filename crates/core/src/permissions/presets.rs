//! Rulesets that an application can take by name, and the contents that they share.
//!
//! Secrets are told by the names and directories that programs really keep them in, and by what a name says of itself.
//! The latter would catch source code and documentation that speak *about* passwords; names with such suffixes pass
//! (D19). What commands do is not a matter of patterns: see the analysis of commands.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, Shown};

use super::command::paths::is_within;
use super::ruleset::{Action, OperationRules, Rule, Ruleset};

/// Directories that hold nothing but secrets; with everything below them.
const SECRET_DIRECTORIES: [&str; 12] = [
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".password-store",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".local/share/keyrings",
    "Library/Keychains",
    ".secrets",
];

/// Files that show what a secret file looks like, without a secret.
const TEMPLATES: [&str; 6] =
    [".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.schema"];

/// Names of files that hold secrets.
const SECRET_NAMES: [&str; 42] = [
    ".env",
    ".env.*",
    ".envrc",
    "*.pem",
    "*.key",
    "*.crt",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.pkcs12",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".dockercfg",
    ".docker/config.json",
    ".vault-token",
    ".s3cfg",
    ".boto",
    "service-account*.json",
    "service_account*.json",
    // Plain names that a suffix of source code or prose does not make harmless.
    "secrets.py",
    "secrets.sh",
    "secrets.md",
    "credentials.py",
    "credentials.sh",
    "credentials.md",
    "passwords.md",
];

/// Suffixes of source code and prose: a name with one of these speaks about secrets and holds none.
const HARMLESS_SUFFIXES: [&str; 46] = [
    "adoc", "astro", "c", "cc", "clj", "cpp", "cs", "css", "dart", "erl", "ex", "exs", "fs", "go", "h", "hpp", "hs",
    "html", "java", "js", "jsx", "kt", "lua", "md", "mdx", "ml", "mjs", "cjs", "mts", "cts", "php", "proto", "py",
    "pyi", "rb", "rs", "rst", "scala", "scss", "sh", "snap", "svelte", "swift", "ts", "tsx", "vue",
];

/// Names that say of themselves that they hold a secret, and directories of such.
const SECRET_WORDS: [&str; 9] = [
    "*secret",
    "*secrets",
    "*secret[!a-z]*",
    "*secrets[!a-z]*",
    "*secretkey*",
    "*password*",
    "*credential*",
    "secrets/**",
    "credentials/**",
];

/// Directories of the operating system.
const SYSTEM_DIRECTORIES: [&str; 13] =
    ["/etc", "/var", "/usr", "/bin", "/sbin", "/boot", "/sys", "/proc", "/dev", "/lib", "/lib32", "/lib64", "/System"];

/// What git runs or obeys: a hook or a setting planted there runs with the next harmless `git status`, allow list or not.
const GIT_STARTS: [&str; 10] = [
    ".git",
    // A directory with this, `objects` and `refs` is a repository of its own, whose `config` git obeys.
    "HEAD",
    ".git/config",
    ".git/config.worktree",
    ".git/hooks",
    ".git/hooks/**",
    ".git/modules/**",
    ".git/worktrees/**",
    ".gitconfig",
    ".config/git/**",
];

const GIT_REASON: &str = "Git runs programs that are named there";
const SECRETS_REASON: &str = "Protects secrets";
const SYSTEM_REASON: &str = "Protects the operating system";

/// The names that [`Ruleset::preset`] takes.
pub const PRESET_NAMES: [&str; 4] = ["default", "permissive", "readonly", "strict"];

impl Ruleset {
    /// A ruleset by name.
    ///
    /// | | read | write, edit, delete | execute | glob, grep, ls |
    /// |---|---|---|---|---|
    /// | `default` | allow, no secrets | ask, no secrets | ask | allow |
    /// | `permissive` | allow, no secrets | allow, no secrets, not the operating system | allow | allow |
    /// | `readonly` | allow, no secrets | deny | deny | allow |
    /// | `strict` | ask, no secrets | ask, no secrets | ask | ask |
    pub fn preset(name: &str) -> Result<Self> {
        match name {
            "default" => Ok(Self {
                default: Some(Action::Ask),
                read: Some(without_secrets(Action::Allow)),
                execute: Some(only(Action::Ask)),
                ..changing(without_secrets(Action::Ask), Action::Allow)
            }),
            "permissive" => Ok(Self {
                default: Some(Action::Allow),
                read: Some(without_secrets(Action::Allow)),
                execute: Some(only(Action::Allow)),
                ..changing(without_secrets_and_system(Action::Allow), Action::Allow)
            }),
            "readonly" => Ok(Self {
                default: Some(Action::Deny),
                read: Some(without_secrets(Action::Allow)),
                execute: Some(only(Action::Deny)),
                ..changing(only(Action::Deny), Action::Allow)
            }),
            "strict" => Ok(Self {
                default: Some(Action::Ask),
                read: Some(without_secrets(Action::Ask)),
                execute: Some(only(Action::Ask)),
                ..changing(without_secrets(Action::Ask), Action::Ask)
            }),
            other => Err(Error::invalid(format!(
                "There is no ruleset named '{}'; the names are {}.",
                Shown(other),
                PRESET_NAMES.join(", ")
            ))),
        }
    }

    /// A ruleset from answers to "may it …?": yes allows, no asks.
    pub fn create(options: CreateOptions) -> Self {
        let action = |allowed: bool| if allowed { Action::Allow } else { Action::Ask };
        let files = |allowed: bool| {
            if options.deny_secrets { without_secrets(action(allowed)) } else { only(action(allowed)) }
        };
        let changes = |allowed: bool| asking_for_git(files(allowed));
        Self {
            default: Some(options.default),
            read: Some(files(options.allow_read)),
            write: Some(changes(options.allow_write)),
            edit: Some(changes(options.allow_edit)),
            delete: Some(changes(options.allow_delete.unwrap_or(options.allow_write))),
            execute: Some(only(action(options.allow_execute))),
            glob: Some(only(action(options.allow_glob))),
            grep: Some(only(action(options.allow_grep))),
            ls: Some(only(action(options.allow_ls))),
        }
    }
}

/// What [`Ruleset::create`] is told (BE-75).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CreateOptions {
    /// What happens where no section decides. `ask`.
    pub default: Action,
    /// Whether files may be read. Yes.
    pub allow_read: bool,
    /// Whether files may be created and replaced. No: it asks.
    pub allow_write: bool,
    /// Whether parts of files may be replaced. No: it asks.
    pub allow_edit: bool,
    /// Whether names may be removed. As `allow_write` when absent.
    pub allow_delete: Option<bool>,
    /// Whether commands may run. No: it asks.
    pub allow_execute: bool,
    /// Whether names may be searched. Yes.
    pub allow_glob: bool,
    /// Whether content may be searched. Yes.
    pub allow_grep: bool,
    /// Whether directories may be listed. Yes.
    pub allow_ls: bool,
    /// Whether secrets are denied to read, write, edit and delete. Yes.
    pub deny_secrets: bool,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self {
            default: Action::Ask,
            allow_read: true,
            allow_write: false,
            allow_edit: false,
            allow_delete: None,
            allow_execute: false,
            allow_glob: true,
            allow_grep: true,
            allow_ls: true,
            deny_secrets: true,
        }
    }
}

/// A ruleset with one section for all that changes files, and one for all that looks for them.
fn changing(change: OperationRules, search: Action) -> Ruleset {
    let change = asking_for_git(change);
    Ruleset {
        write: Some(change.clone()),
        edit: Some(change.clone()),
        delete: Some(change),
        glob: Some(only(search)),
        grep: Some(only(search)),
        ls: Some(only(search)),
        ..Ruleset::default()
    }
}

/// A section for changes that asks where git would run what is written. Behind what is denied for the whole machine, and in front
/// of what passes by its suffix.
fn asking_for_git(mut section: OperationRules) -> OperationRules {
    if section.default == Some(Action::Allow) {
        let start = section.rules.iter().take_while(|rule| rule.pattern.starts_with('/')).count();
        let rules = GIT_STARTS.map(|name| Rule::new(format!("(?i)**/{name}"), Action::Ask).because(GIT_REASON));
        section.rules.splice(start..start, rules);
    }
    section
}

fn only(default: Action) -> OperationRules {
    OperationRules { default: Some(default), rules: Vec::new() }
}

fn without_secrets(default: Action) -> OperationRules {
    OperationRules { default: Some(default), rules: secret_rules(default) }
}

fn without_secrets_and_system(default: Action) -> OperationRules {
    let mut rules: Vec<Rule> = SYSTEM_DIRECTORIES
        .iter()
        .map(|directory| Rule::new(format!("{directory}/**"), Action::Deny).because(SYSTEM_REASON))
        .collect();
    rules.extend(secret_rules(default));
    OperationRules { default: Some(default), rules }
}

/// Whether a directory of the agent lies in one of the operating system's.
pub(super) fn is_of_system(root: &str) -> bool {
    SYSTEM_DIRECTORIES.iter().any(|directory| is_within(root, directory))
}

/// The ruleset for what lies in these directories, where rules of a preset protect the operating system around one of them. Each
/// rule keeps its place, by which verdicts name it.
pub(super) fn without_system(ruleset: &Ruleset, roots: &[String]) -> Option<Ruleset> {
    let mut own = ruleset.clone();
    let mut changed = false;
    for section in [&mut own.read, &mut own.write, &mut own.edit, &mut own.delete].into_iter().flatten() {
        for rule in section.rules.iter_mut().filter(|rule| rule.description.as_deref() == Some(SYSTEM_REASON)) {
            let directory = rule.pattern.strip_suffix("/**").filter(|directory| SYSTEM_DIRECTORIES.contains(directory));
            if let Some(directory) = directory.filter(|it| roots.iter().any(|root| is_within(root, it))) {
                // No path holds such a name.
                rule.pattern = format!("{directory}/\0");
                changed = true;
            }
        }
    }
    changed.then_some(own)
}

/// The rules that keep secrets out of a section whose default is `otherwise`.
fn secret_rules(otherwise: Action) -> Vec<Rule> {
    let deny = |pattern: String| Rule::new(pattern, Action::Deny).because(SECRETS_REASON);
    let mut rules = Vec::new();
    for directory in SECRET_DIRECTORIES {
        rules.push(deny(format!("(?i)**/{directory}")));
        rules.push(deny(format!("(?i)**/{directory}/**")));
    }
    rules.extend(TEMPLATES.map(|name| Rule::new(format!("(?i)**/{name}"), otherwise)));
    rules.extend(SECRET_NAMES.map(|name| deny(format!("(?i)**/{name}"))));
    rules.extend(HARMLESS_SUFFIXES.map(|suffix| Rule::new(format!("(?i)**/*.{suffix}"), otherwise)));
    rules.extend(SECRET_WORDS.map(|name| deny(format!("(?i)**/{name}"))));
    rules
}
