//! The environment that a command gets: an allow list of the host's variables, what keeps programs from asking
//! questions, and what the application set. Nothing else of the host's environment reaches a command (R-SH-8): tokens,
//! `NODE_OPTIONS`, `LD_PRELOAD`, `GIT_*` and the like must be handed over by name. Of the host's `PATH` a command gets the
//! directories in which the agent cannot put a program; one that the application set is the application's.

use std::ffi::{OsStr, OsString};

use super::search_path::WritablePlaces;
use crate::error::{Error, Result, Shown};

/// Where programs are looked up.
pub(in crate::backend::local) const SEARCH_PATH: &str = "PATH";

/// Names that a command inherits; names that begin with `LC_` come on top.
const INHERITED: [&str; 7] = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL"];

/// What makes programs print plainly and never wait for an answer (R-SH-1, BE-120). They replace what was inherited.
const DEFAULTS: [(&str, &str); 10] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
    ("NPM_CONFIG_YES", "true"),
    ("PYTHONUNBUFFERED", "1"),
];

/// What stands in for a variable that the host does not have.
const FALLBACKS: [(&str, &str); 2] =
    [("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), ("LANG", "C.UTF-8")];

/// A complete environment. Later settings of a name replace earlier ones.
#[derive(Debug, Clone)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// The environment for the commands of a backend whose application set `explicit`. The host's variables are read
    /// once, here: a program that changes its own environment later does not race with a command that starts.
    pub fn of_host(explicit: &[(String, String)]) -> Result<Self> {
        Self::outside(explicit, &WritablePlaces::default())
    }

    /// The same, and programs of the host are looked up outside `places` only.
    pub fn outside(explicit: &[(String, String)], places: &WritablePlaces) -> Result<Self> {
        Self::new(std::env::vars_os(), explicit, places)
    }

    fn new(
        host: impl Iterator<Item = (OsString, OsString)>,
        explicit: &[(String, String)],
        places: &WritablePlaces,
    ) -> Result<Self> {
        let mut environment = Self(Vec::with_capacity(INHERITED.len() + DEFAULTS.len() + explicit.len() + 4));
        for (name, value) in FALLBACKS {
            environment.set(name.into(), value.into());
        }
        for (name, value) in host.filter(|(name, _)| is_inherited(name)) {
            environment.set(name, value);
        }
        if let Some(path) = environment.search_path() {
            environment.set(SEARCH_PATH.into(), places.without(path));
        }
        for (name, value) in DEFAULTS {
            environment.set(name.into(), value.into());
        }
        environment.with(explicit)
    }

    /// This environment with `explicit` set on top. Fails with `InvalidInput` for a name or value that no environment
    /// can hold.
    pub fn with(&self, explicit: &[(String, String)]) -> Result<Self> {
        let mut environment = self.clone();
        for (name, value) in explicit {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(Error::invalid(format!(
                    "'{}' is no name for an environment variable; a name is not empty and holds neither '=' nor NUL.",
                    Shown(name)
                )));
            }
            if value.contains('\0') {
                return Err(Error::invalid(format!(
                    "The value of the environment variable '{}' holds a NUL character.",
                    Shown(name)
                )));
            }
            environment.set(name.into(), value.into());
        }
        Ok(environment)
    }

    /// Where programs are looked up.
    pub fn search_path(&self) -> Option<&OsStr> {
        self.iter().find(|(name, _)| *name == SEARCH_PATH).map(|(_, value)| value)
    }

    fn set(&mut self, name: OsString, value: OsString) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some(entry) => entry.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// Every variable, as [`std::process::Command::envs`] takes them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

fn is_inherited(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| INHERITED.contains(&name) || name.starts_with("LC_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn pairs(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        list.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    fn value(environment: &Environment, name: &str) -> Option<String> {
        environment.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string_lossy().into_owned())
    }

    #[test]
    fn inherits_by_allow_list_only() {
        let host = pairs(&[
            ("PATH", "/opt/bin"),
            ("HOME", "/home/u"),
            ("LC_ALL", "de_DE.UTF-8"),
            ("TERM", "xterm"),
            ("NODE_OPTIONS", "--inspect"),
            ("LD_PRELOAD", "/x.so"),
            ("BASH_ENV", "/x"),
            ("GIT_DIR", "/x"),
            ("FAKE_API_KEY", "s3cret"),
            ("PWD", "/somewhere"),
        ]);
        let environment = Environment::new(host.into_iter(), &[], &WritablePlaces::default()).unwrap();
        for (name, expected) in [
            ("PATH", Some("/opt/bin")),
            ("HOME", Some("/home/u")),
            ("LC_ALL", Some("de_DE.UTF-8")),
            ("LANG", Some("C.UTF-8")),
            ("TERM", Some("dumb")),
            ("GIT_TERMINAL_PROMPT", Some("0")),
            ("NODE_OPTIONS", None),
            ("LD_PRELOAD", None),
            ("BASH_ENV", None),
            ("GIT_DIR", None),
            ("FAKE_API_KEY", None),
            ("PWD", None),
        ] {
            assert_eq!(value(&environment, name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn what_is_set_by_name_wins_and_must_be_possible() {
        let explicit = [("TERM".into(), "xterm".into())];
        let host = pairs(&[("PATH", "/bin")]).into_iter();
        let base = Environment::new(host, &explicit, &WritablePlaces::default()).unwrap();
        assert_eq!(value(&base, "TERM").as_deref(), Some("xterm"));
        let call = base.with(&[("GIT_DIR".into(), "g".into()), ("TERM".into(), String::new())]).unwrap();
        assert_eq!((value(&call, "GIT_DIR"), value(&call, "TERM")), (Some("g".into()), Some(String::new())));
        for (name, text) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "x\0")] {
            assert_eq!(base.with(&[(name.into(), text.into())]).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
    }

    /// R-CMD-3: a relative directory is whichever the command runs in; see also `search_path.rs`.
    #[test]
    fn programs_are_looked_up_outside_unless_the_application_says_where() {
        let host = || pairs(&[("PATH", "node_modules/.bin:/bin::.")]).into_iter();
        let none = WritablePlaces::default();
        assert_eq!(value(&Environment::new(host(), &[], &none).unwrap(), "PATH").as_deref(), Some("/bin"));
        let own = [("PATH".to_owned(), "tools:/bin".to_owned())];
        assert_eq!(value(&Environment::new(host(), &own, &none).unwrap(), "PATH").as_deref(), Some("tools:/bin"));
    }
}
