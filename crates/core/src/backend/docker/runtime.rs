//! [`Runtime`]: an image described by what is in it, and the Dockerfile that makes it.
//!
//! Nothing in a description reaches a shell but the set-up commands, which are commands: packages are arguments of a
//! program (the JSON form of `RUN`), so that `numpy>=1.26` is a version and no redirection (D31a), and values are
//! quoted for the one parser that reads them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::digest::sha256;
use super::install::{self, Keep};
use crate::error::{Error, Result, Shown};
use crate::path::VirtualPath;

/// The repository of the images that we build.
pub(super) const REPOSITORY: &str = "gloveport-runtime";
/// 64 characters of a name: a tag has 128, and a digest follows.
const NAME_CHARS: usize = 64;
/// 60 characters of its content's digest: with the name a tag is full, and nobody finds two contents of 240 equal bits.
const DIGEST_CHARS: usize = 60;
/// The digests of names of images that this and earlier releases gave.
pub(super) const DIGESTS: [usize; 2] = [DIGEST_CHARS, 32];
/// 512 bytes of one package: a name, a version, or the address of a repository.
const PACKAGE_BYTES: usize = 512;

/// An image described by its packages (BE-130).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Runtime {
    /// Letters, digits, `_`, `.` and `-`.
    pub name: String,
    /// For people.
    #[serde(default)]
    pub description: String,
    /// An image used as it is.
    #[serde(default)]
    pub image: Option<String>,
    /// The image that packages and set-up come on top of.
    #[serde(default)]
    pub base_image: Option<String>,
    /// Packages, each as its manager names it, with a version if need be.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Who installs them.
    #[serde(default)]
    pub package_manager: PackageManager,
    /// Commands of a shell, run before the packages are installed.
    #[serde(default)]
    pub setup_commands: Vec<String>,
    /// Variables of the image.
    #[serde(default)]
    pub env_vars: BTreeMap<String, String>,
    /// Where commands run.
    #[serde(default = "workspace")]
    pub work_dir: String,
    /// Whether an image that was built before is used again.
    #[serde(default = "yes")]
    pub cache_image: bool,
    /// A user that is not root, by number.
    #[serde(default)]
    pub run_as_uid: Option<u32>,
}

fn workspace() -> String {
    "/workspace".to_owned()
}

fn yes() -> bool {
    true
}

impl Runtime {
    /// Refuses what cannot be taken, whichever of the two it is: an image as it is, or one to be built.
    pub fn check(&self) -> Result<()> {
        let Some(image) = &self.image else { return dockerfile(self).map(drop) };
        check_name(&self.name)?;
        check_image(image)?;
        let name = Shown(&self.name);
        if self.base_image.is_some() {
            return Err(Error::invalid(format!("The runtime '{name}' has both an `image` and a `baseImage`.")));
        }
        if !self.packages.is_empty() || !self.setup_commands.is_empty() {
            return Err(Error::invalid(format!(
                "The runtime '{name}' has an `image`, which is used as it is: packages and set-up commands go with a `baseImage`."
            )));
        }
        check_user(self.run_as_uid)?;
        work_dir(&self.work_dir)?;
        self.env_vars.iter().try_for_each(|(name, value)| check_variable(name, value))
    }
}

/// Who installs packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PackageManager {
    /// Python's.
    #[default]
    Pip,
    /// Node's, into the working directory.
    Npm,
    /// Debian's.
    Apt,
    /// Rust's.
    Cargo,
}

/// Where Python packages live when the user is not root, so that it can add some.
const VENV: &str = "/opt/venv";
/// The home of a user that is not root.
const HOME: &str = "/home/agent";

/// The Dockerfile of a runtime with a `baseImage`. `InvalidInput`, naming what cannot be taken (BE-133).
pub fn dockerfile(runtime: &Runtime) -> Result<String> {
    written(runtime, None)
}

/// The same for a builder that can keep what is downloaded; the image that it makes is the same one.
pub(super) fn written(runtime: &Runtime, keep: Option<&Keep>) -> Result<String> {
    check_name(&runtime.name)?;
    let Some(base) = &runtime.base_image else {
        return Err(Error::invalid(format!("The runtime '{}' has no `baseImage` to build on.", Shown(&runtime.name))));
    };
    check_image(base)?;
    let work_dir = work_dir(&runtime.work_dir)?;
    let mut lines = vec![format!("FROM {base}")];
    for command in &runtime.setup_commands {
        if command.trim().is_empty() || command.contains(['\n', '\r', '\0']) {
            return Err(Error::invalid(format!(
                "The set-up command '{}' is empty or holds a line break; give each command by itself.",
                Shown(command)
            )));
        }
        lines.push(run("", &["/bin/sh", "-c", command]));
    }
    for package in &runtime.packages {
        check_package(package)?;
    }
    let uid = check_user(runtime.run_as_uid)?;
    let venv = uid.is_some() && runtime.package_manager == PackageManager::Pip;
    if venv {
        lines.push(run("", &["python3", "-m", "venv", "--system-site-packages", VENV]));
    }
    if !runtime.packages.is_empty() {
        if runtime.package_manager == PackageManager::Npm {
            lines.push(format!("WORKDIR {}", quoted(work_dir.as_str())));
        }
        let pip = if venv { "/opt/venv/bin/pip" } else { "pip" };
        lines.push(install::instruction(runtime, pip, keep));
    }
    if let Some(uid) = uid {
        let owned = if venv { VENV } else { HOME };
        let script = "mkdir -p \"$2\" \"$3\" && chown -R \"$1:$1\" \"$2\" \"$3\" \"$4\"";
        lines.push(run("", &["/bin/sh", "-c", script, "sh", &uid.to_string(), HOME, work_dir.as_str(), owned]));
        lines.push(format!("ENV HOME={HOME}"));
        if venv {
            lines.push(format!("ENV PATH={VENV}/bin:$PATH"));
        }
    }
    for (name, value) in &runtime.env_vars {
        check_variable(name, value)?;
        lines.push(format!("ENV {name}={}", quoted(value)));
    }
    lines.push(format!("WORKDIR {}", quoted(work_dir.as_str())));
    if let Some(uid) = uid {
        lines.push(format!("USER {uid}:{uid}"));
    }
    lines.push(String::new());
    Ok(lines.join("\n"))
}

/// The name of the image that [`dockerfile`] makes: the same content has the same name, other content another, whoever builds it.
pub fn image_tag(runtime: &Runtime) -> Result<String> {
    let digest = sha256(dockerfile(runtime)?.as_bytes());
    Ok(format!("{REPOSITORY}:{}-{}", runtime.name, &digest[..DIGEST_CHARS]))
}

/// Where commands run.
pub(super) fn work_dir(text: &str) -> Result<VirtualPath> {
    if let Some(character) = text.chars().find(|c| c.is_control() || "$&();<>`|\"'\\".contains(*c)) {
        return Err(Error::invalid(format!(
            "`workDir` holds the character '{}', which is no part of a plain path.",
            character.escape_default()
        )));
    }
    if !text.starts_with('/') {
        return Err(Error::invalid("`workDir` must be an absolute path, such as '/workspace'."));
    }
    VirtualPath::absolute(text)
}

/// Refuses what is no reference to an image.
pub(super) fn check_image(image: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@+".contains(c);
    if image.is_empty() || image.len() > 512 || image.starts_with('-') || !image.chars().all(plain) {
        return Err(Error::invalid(format!("'{}' is no name of an image.", Shown(image))));
    }
    Ok(())
}

fn check_user(uid: Option<u32>) -> Result<Option<u32>> {
    match uid {
        Some(0) => Err(Error::invalid("`runAsUid` must be the number of a user that is not root, not 0.")),
        uid => Ok(uid),
    }
}

fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    if !first || name.len() > NAME_CHARS || !name.chars().all(plain) {
        return Err(Error::invalid(format!(
            "The name of a runtime has up to {NAME_CHARS} letters, digits, '_', '.' and '-'; '{}' has not.",
            Shown(name)
        )));
    }
    Ok(())
}

/// No shell reads a package, but its manager does: what begins with a dash is an option.
fn check_package(package: &str) -> Result<()> {
    let first = package.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '@');
    if !first || package.len() > PACKAGE_BYTES || !package.chars().all(|c| c.is_ascii_graphic()) {
        return Err(Error::invalid(format!(
            "'{}' is no package: a name begins with a letter, a digit or '@' and holds no blank.",
            Shown(package)
        )));
    }
    Ok(())
}

fn check_variable(name: &str, value: &str) -> Result<()> {
    let mut characters = name.chars();
    let first = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !first || !characters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(Error::invalid(format!("'{}' is no name of an environment variable.", Shown(name))));
    }
    if value.contains(['\n', '\r', '\0']) {
        return Err(Error::invalid(format!("The value of the environment variable '{name}' holds a line break.")));
    }
    Ok(())
}

/// An instruction that runs a program without a shell, with `options` of the builder, each after a blank.
pub(super) fn run(options: &str, arguments: &[&str]) -> String {
    format!("RUN{options} {}", serde_json::Value::from(arguments.to_vec()))
}

/// A word of a Dockerfile in double quotes, in which `\`, `"` and `$` mean something.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        if matches!(character, '\\' | '"' | '$') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_version_is_no_redirection() {
        let packages = r#"["pandas>=2,<3", "git+https://example.com/x.git@v1#egg=x"]"#;
        let json = format!(r#"{{ "name": "n", "baseImage": "python:3.12-slim", "packages": {packages} }}"#);
        assert_eq!(
            dockerfile(&serde_json::from_str(&json).unwrap()).unwrap(),
            "FROM python:3.12-slim\n\
             RUN [\"pip\",\"install\",\"--no-cache-dir\",\"--\",\"pandas>=2,<3\",\"git+https://example.com/x.git@v1#egg=x\"]\n\
             WORKDIR \"/workspace\"\n"
        );
    }

    /// What each manager is asked, who the user is, and whose the directories are (BE-132).
    #[test]
    fn says_each_line_of_each_manager_and_user() {
        let made = |fields: &str| {
            let json = format!(r#"{{ "name": "n", "baseImage": "b", "setupCommands": ["echo 1"], {fields} }}"#);
            dockerfile(&serde_json::from_str(&json).unwrap()).unwrap()
        };
        let set_up = "FROM b\nRUN [\"/bin/sh\",\"-c\",\"echo 1\"]\n";
        assert_eq!(
            made(r#""packages": ["typescript@5", "@types/react"], "packageManager": "npm", "workDir": "/app""#),
            format!(
                "{set_up}WORKDIR \"/app\"\n\
                 RUN [\"npm\",\"install\",\"--no-audit\",\"--no-fund\",\"--\",\"typescript@5\",\"@types/react\"]\n\
                 WORKDIR \"/app\"\n"
            )
        );
        assert_eq!(
            made(r#""packages": ["git", "curl=8*"], "packageManager": "apt""#),
            format!(
                "{set_up}RUN [\"/bin/sh\",\"-c\",\"apt-get update && apt-get install -y --no-install-recommends -- \\\"$@\\\" && \
                 rm -rf /var/lib/apt/lists/*\",\"sh\",\"git\",\"curl=8*\"]\n\
                 WORKDIR \"/workspace\"\n"
            )
        );
        assert_eq!(
            made(r#""packages": ["ripgrep"], "packageManager": "cargo", "envVars": { "A": "b" }"#),
            format!(
                "{set_up}RUN [\"cargo\",\"install\",\"--locked\",\"--\",\"ripgrep\"]\n\
                 ENV A=\"b\"\n\
                 WORKDIR \"/workspace\"\n"
            )
        );
        // Root's packages stay readable, and a venv is the user's own, in front of the rest.
        assert_eq!(
            made(r#""packages": ["numpy"], "runAsUid": 1000"#),
            format!(
                "{set_up}RUN [\"python3\",\"-m\",\"venv\",\"--system-site-packages\",\"/opt/venv\"]\n\
                 RUN [\"/opt/venv/bin/pip\",\"install\",\"--no-cache-dir\",\"--\",\"numpy\"]\n\
                 RUN [\"/bin/sh\",\"-c\",\"mkdir -p \\\"$2\\\" \\\"$3\\\" && chown -R \\\"$1:$1\\\" \\\"$2\\\" \\\"$3\\\" \
                 \\\"$4\\\"\",\"sh\",\"1000\",\"/home/agent\",\"/workspace\",\"/opt/venv\"]\n\
                 ENV HOME=/home/agent\n\
                 ENV PATH=/opt/venv/bin:$PATH\n\
                 WORKDIR \"/workspace\"\n\
                 USER 1000:1000\n"
            )
        );
        // Without Python there is no venv, and nothing of it.
        let npm = made(r#""packageManager": "npm", "runAsUid": 1000"#);
        assert!(
            npm.ends_with("\",\"/home/agent\"]\nENV HOME=/home/agent\nWORKDIR \"/workspace\"\nUSER 1000:1000\n"),
            "{npm}"
        );
        assert!(!npm.contains("venv"), "{npm}");
    }

    #[test]
    fn values_stay_values() {
        let runtime: Runtime = serde_json::from_str(
            r#"{ "name": "n", "baseImage": "b", "workDir": "/a b", "envVars": { "A": "it's \"$HOME\" \\ `x`" },
                 "setupCommands": ["echo \"hi\" && ls"] }"#,
        )
        .unwrap();
        assert_eq!(
            dockerfile(&runtime).unwrap(),
            "FROM b\n\
             RUN [\"/bin/sh\",\"-c\",\"echo \\\"hi\\\" && ls\"]\n\
             ENV A=\"it's \\\"\\$HOME\\\" \\\\ `x`\"\n\
             WORKDIR \"/a b\"\n"
        );
    }

    #[test]
    fn nothing_injects_a_line_or_an_option() {
        let base = r#"{ "name": "n", "baseImage": "b" }"#;
        let base: Runtime = serde_json::from_str(base).unwrap();
        for (what, change) in [
            ("name", Box::new(|r: &mut Runtime| r.name = "a\nRUN x".to_owned()) as Box<dyn Fn(&mut Runtime)>),
            ("long name", Box::new(|r: &mut Runtime| r.name = "a".repeat(65))),
            ("base", Box::new(|r: &mut Runtime| r.base_image = Some("b\nRUN x".to_owned()))),
            ("base with an option", Box::new(|r: &mut Runtime| r.base_image = Some("--platform=x".to_owned()))),
            ("package option", Box::new(|r: &mut Runtime| r.packages = vec!["-r/etc/passwd".to_owned()])),
            ("package with a line", Box::new(|r: &mut Runtime| r.packages = vec!["a\nRUN x".to_owned()])),
            ("package with a blank", Box::new(|r: &mut Runtime| r.packages = vec!["a b".to_owned()])),
            ("command with a line", Box::new(|r: &mut Runtime| r.setup_commands = vec!["a\nb".to_owned()])),
            ("empty command", Box::new(|r: &mut Runtime| r.setup_commands = vec![" ".to_owned()])),
            ("directory", Box::new(|r: &mut Runtime| r.work_dir = "/a\nRUN x".to_owned())),
            ("relative directory", Box::new(|r: &mut Runtime| r.work_dir = "a".to_owned())),
            ("variable", Box::new(|r: &mut Runtime| drop(r.env_vars.insert("A B".to_owned(), String::new())))),
            ("root", Box::new(|r: &mut Runtime| r.run_as_uid = Some(0))),
        ] {
            let mut runtime = base.clone();
            change(&mut runtime);
            assert_eq!(dockerfile(&runtime).unwrap_err().kind(), ErrorKind::InvalidInput, "{what}");
        }
        assert!(dockerfile(&base).is_ok());
    }

    #[test]
    fn what_an_image_cannot_take_is_not_dropped_in_silence() {
        let plain: Runtime = serde_json::from_str(r#"{ "name": "n", "image": "i", "runAsUid": 1000 }"#).unwrap();
        plain.check().unwrap();
        let changes: [fn(&mut Runtime); 7] = [
            |runtime| runtime.packages.push("numpy".to_owned()),
            |runtime| runtime.setup_commands.push("true".to_owned()),
            |runtime| runtime.base_image = Some("b".to_owned()),
            |runtime| runtime.run_as_uid = Some(0),
            |runtime| runtime.name = "a b".to_owned(),
            |runtime| runtime.work_dir = "relative".to_owned(),
            |runtime| drop(runtime.env_vars.insert("A B".to_owned(), String::new())),
        ];
        for (n, change) in changes.iter().enumerate() {
            let mut runtime = plain.clone();
            change(&mut runtime);
            assert_eq!(runtime.check().unwrap_err().kind(), ErrorKind::InvalidInput, "{n}");
        }
    }

    #[test]
    fn another_content_has_another_name() {
        let one: Runtime = serde_json::from_str(r#"{ "name": "n", "baseImage": "b", "packages": ["x"] }"#).unwrap();
        let mut other = one.clone();
        other.description = "for people".to_owned();
        assert_eq!(image_tag(&one).unwrap(), image_tag(&other).unwrap());
        other.packages.push("y".to_owned());
        assert_ne!(image_tag(&one).unwrap(), image_tag(&other).unwrap());
        // Of any content, and however long the name: by the first 60 digits of `printf 'FROM b\n…' | sha256sum`.
        other = Runtime { name: "n".repeat(NAME_CHARS), packages: Vec::new(), ..other };
        let tag = image_tag(&other).unwrap();
        let (repository, tag) = tag.split_once(':').unwrap();
        assert_eq!((repository, tag.len()), (REPOSITORY, 125));
        assert!(tag.ends_with("-49019305f22b87238fded8dc2925c3bbe3a95935c30e4373c92b20c18d10"), "{tag}");
    }
}
