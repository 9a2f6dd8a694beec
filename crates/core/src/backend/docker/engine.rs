//! Finds a container engine.
//!
//! One that was named is the only one tried. Otherwise `DOCKER_HOST`, the current Docker context, and the sockets where
//! Docker and Podman usually are, in this order; the first that answers is taken, unless one was named by the
//! environment: that one's silence is an error, not a reason to use another machine.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::client::{Address, Engine, Failure, Tls};
use crate::error::{Error, ErrorKind, Result, Shown};

/// 5 s for an engine of this machine to say that it is there.
const HELLO: Duration = Duration::from_secs(5);
/// 30 s for one that a program has to log in to.
const FAR_HELLO: Duration = Duration::from_secs(30);
/// 8 MiB: what a Docker configuration file may have at most to be read; tokens of many registries are long.
const CONFIG_BYTES: u64 = 8 << 20;

/// An address, and where it came from.
#[derive(Debug)]
struct Candidate {
    source: String,
    address: Result<String, &'static str>,
    tls: Option<Tls>,
}

/// A client of an engine that answers.
pub(super) async fn connect(host: Option<&str>) -> Result<Engine> {
    let named = match host {
        Some(host) => Some(Candidate {
            source: "the `host` option".to_owned(),
            address: Ok(host.to_owned()),
            tls: tls_of_environment(),
        }),
        None => named_by_environment(),
    };
    let candidates = match named {
        Some(candidate) => vec![candidate],
        None => usual_sockets(),
    };
    let mut tried = Vec::new();
    for candidate in &candidates {
        match hello(candidate).await {
            Ok(engine) => return Ok(engine),
            Err(reason) => tried.push((candidate, reason)),
        }
    }
    Err(unreachable(&tried))
}

async fn hello(candidate: &Candidate) -> Result<Engine, Reason> {
    let address =
        Address::parse(candidate.address.as_deref().map_err(|why| (*why).to_owned())?, candidate.tls.as_ref())?;
    let program = address.program().map(str::to_owned);
    let most = if program.is_some() { FAR_HELLO } else { HELLO };
    let answered = timeout(most, Engine::hello(address)).await;
    match (answered, program) {
        (Ok(Ok(engine)), _) => Ok(engine),
        (Ok(Err(Failure::Unled(said))), Some(program)) => Err(Reason {
            said,
            ..format!("`{program}` brought no connection; `docker version` must work there without asking anything")
                .into()
        }),
        (Ok(Err(failure)), Some(program)) => Err(format!("`{program}`: {}", reason(&failure)).into()),
        (Ok(Err(failure)), None) => Err(reason(&failure).into()),
        (Err(_), _) => Err(format!("no answer within {} s", most.as_secs()).into()),
    }
}

/// Why an engine was not reached.
#[derive(Debug)]
struct Reason {
    text: String,
    /// What the program that should lead there complained of. It may hold anything: for the author alone.
    said: String,
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self { text, said: String::new() }
    }
}

fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Refused { status, .. } => format!("it answered {status}"),
        Failure::Broken(_) => "it stopped in the middle".to_owned(),
        Failure::Lost(why) => (*why).to_owned(),
        Failure::Unled(_) => "the program that leads to it ended".to_owned(),
        Failure::Nonsense => "it does not speak the Docker protocol".to_owned(),
    }
}

/// The addresses go into the details: a model that reads the message has no use for the paths of this machine.
fn unreachable(tried: &[(&Candidate, Reason)]) -> Error {
    let list: Vec<String> =
        tried.iter().map(|(candidate, reason)| format!("{}: {}", candidate.source, Shown(&reason.text))).collect();
    let details: Vec<Value> = tried
        .iter()
        .map(|(candidate, Reason { text, said })| {
            let address = candidate.address.as_deref().unwrap_or_default();
            let mut told = json!({ "source": candidate.source, "address": address, "reason": text });
            if !said.is_empty() {
                told["said"] = said.as_str().into();
            }
            told
        })
        .collect();
    Error::new(
        ErrorKind::BackendUnavailable,
        format!(
            "No container engine can be reached. Tried {}. Start Docker or Podman, or name its address by the `host` option \
             or DOCKER_HOST.",
            list.join("; ")
        ),
    )
    .with_details(json!({ "tried": details }))
}

/// Where the engine of these options, and every other one that a process of this user would take, is or may come to be.
pub(super) fn addresses(host: Option<&str>) -> Vec<String> {
    let mut addresses: Vec<String> = host.map(str::to_owned).into_iter().collect();
    let candidates = named_by_environment().into_iter().chain(usual_sockets());
    addresses.extend(candidates.filter_map(|candidate| candidate.address.ok()));
    addresses
}

fn named_by_environment() -> Option<Candidate> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(address) = set("DOCKER_HOST") {
        return Some(Candidate { source: "DOCKER_HOST".to_owned(), address: Ok(address), tls: tls_of_environment() });
    }
    named_by_configuration(&configuration()?, set("DOCKER_CONTEXT"))
}

/// The context of that name, else the one that is set in the configuration. One that cannot be read might name another machine: that
/// is no reason to take this one.
fn named_by_configuration(folder: &std::path::Path, name: Option<String>) -> Option<Candidate> {
    let name = match name.map_or_else(|| current_context(folder), |name| Ok(Some(name))) {
        Ok(name) => name?,
        Err(why) => {
            return Some(Candidate { source: "Docker's configuration".to_owned(), address: Err(why), tls: None });
        }
    };
    if name.is_empty() || name == "default" {
        return None;
    }
    Some(context(folder, &name))
}

fn current_context(folder: &std::path::Path) -> Result<Option<String>, &'static str> {
    let Some(configuration) = read_json(folder.join("config.json"))? else { return Ok(None) };
    match configuration.get("currentContext") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) => Ok(Some(name.clone())),
        Some(_) => Err("its `currentContext` is no text"),
    }
}

/// Where the engine's client keeps its settings.
fn configuration() -> Option<PathBuf> {
    let set = std::env::var_os("DOCKER_CONFIG").filter(|value| !value.is_empty());
    set.map(PathBuf::from).or_else(|| Some(home()?.join(".docker")))
}

/// What the engine's client does with an address when these are set.
fn tls_of_environment() -> Option<Tls> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let verify = set("DOCKER_TLS_VERIFY").is_some();
    let folder = set("DOCKER_CERT_PATH").map(PathBuf::from);
    if !verify && set("DOCKER_TLS").is_none() {
        return None;
    }
    Some(Tls { folder: folder.or_else(configuration)?, verify })
}

/// A context lies in a folder named by a hash of its name; its own file says which one it is. One that is named and cannot be
/// read is tried, and fails by name.
fn context(folder: &std::path::Path, name: &str) -> Candidate {
    let source = format!("the Docker context '{}'", Shown(name));
    let contexts = std::fs::read_dir(folder.join("contexts").join("meta")).into_iter().flatten().flatten();
    let found =
        contexts.filter_map(|entry| Some((entry.file_name(), read_json(entry.path().join("meta.json")).ok()??)));
    for (hash, meta) in found {
        if meta.get("Name").and_then(Value::as_str) != Some(name) {
            continue;
        }
        let Some(address) = meta.pointer("/Endpoints/docker/Host").and_then(Value::as_str) else { break };
        let certificates = folder.join("contexts").join("tls").join(hash).join("docker");
        let skips = meta.pointer("/Endpoints/docker/SkipTLSVerify").and_then(Value::as_bool).unwrap_or(false);
        // One that checks no certificate speaks TLS all the same.
        let tls = (skips || certificates.is_dir()).then_some(Tls { folder: certificates, verify: !skips });
        return Candidate { source, address: Ok(address.to_owned()), tls };
    }
    Candidate { source, address: Err("there is none of that name, or it cannot be read"), tls: None }
}

fn usual_sockets() -> Vec<Candidate> {
    if cfg!(windows) {
        return vec![Candidate {
            source: "the pipe of Docker Desktop".to_owned(),
            address: Ok("npipe:////./pipe/docker_engine".to_owned()),
            tls: None,
        }];
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let places = [
        ("the socket of Docker", Some(PathBuf::from("/var/run/docker.sock"))),
        ("the socket of Docker Desktop", home().map(|home| home.join(".docker/run/docker.sock"))),
        ("the socket of rootless Docker", runtime.as_ref().map(|folder| folder.join("docker.sock"))),
        ("the socket of rootless Podman", runtime.as_ref().map(|folder| folder.join("podman/podman.sock"))),
        ("the socket of Podman", Some(PathBuf::from("/run/podman/podman.sock"))),
    ];
    places
        .into_iter()
        .filter_map(|(source, path)| {
            let address = Ok(format!("unix://{}", path?.to_str()?));
            Some(Candidate { source: source.to_owned(), address, tls: None })
        })
        .collect()
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// What is in a file of settings; nothing where there is no such file.
fn read_json(path: PathBuf) -> Result<Option<Value>, &'static str> {
    let unreadable = "its file `config.json` cannot be read";
    let facts = match std::fs::metadata(&path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(_) => return Err(unreadable),
    };
    if !facts.is_file() {
        return Err(unreadable);
    }
    if facts.len() > CONFIG_BYTES {
        return Err("its file `config.json` has more than 8 MiB");
    }
    let bytes = std::fs::read(path).map_err(|_| unreadable)?;
    serde_json::from_slice(&bytes).map(Some).map_err(|_| "its file `config.json` is no JSON")
}

/// What the engine refused. Its words go into the details only: they name places of its machine.
pub(super) fn refused(doing: &str, failure: &Failure) -> Error {
    match failure {
        Failure::Refused { status, message } => {
            Error::new(ErrorKind::BackendUnavailable, format!("The container engine refused to {doing}."))
                .with_details(json!({ "status": status, "message": message }))
        }
        Failure::Broken(message) => {
            Error::new(ErrorKind::BackendUnavailable, format!("The container engine failed to {doing}."))
                .with_details(json!({ "message": message }))
        }
        Failure::Lost(_) | Failure::Unled(_) | Failure::Nonsense => {
            let text = format!("The container engine was lost while it should {doing}: {}.", reason(failure));
            let error = Error::new(ErrorKind::BackendUnavailable, text);
            match failure {
                Failure::Unled(said) if !said.is_empty() => error.with_details(json!({ "said": said })),
                _ => error,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn says_what_was_tried_and_what_would_help() {
        let folder = tempfile::tempdir().unwrap();
        let missing = format!("unix://{}/none.sock", folder.path().display());
        let error = connect(Some(&missing)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BackendUnavailable);
        assert_eq!(
            error.message(),
            "No container engine can be reached. Tried the `host` option: there is no such socket. Start Docker or Podman, \
             or name its address by the `host` option or DOCKER_HOST."
        );
        assert_eq!(error.details().unwrap()["tried"][0]["address"], missing);
        for (address, reason) in [
            ("https://machine:2376", "TLS needs certificates"),
            ("machine", "an address is unix://"),
            ("ssh://-x", "an address is unix://"),
        ] {
            let error = connect(Some(address)).await.unwrap_err();
            assert!(error.message().contains(reason), "{error}");
        }
    }

    /// The engine of this machine was taken in the place of the one that a configuration names which could not be read.
    #[tokio::test]
    async fn a_configuration_that_cannot_be_read_leads_to_no_other_engine() {
        let large = format!(r#"{{"auths":{{"x":"{}"}},"currentContext":"far"}}"#, "x".repeat(100 << 10));
        for (configuration, source) in [
            (None, None),
            (Some("{}"), None),
            (Some(r#"{"currentContext":null}"#), None),
            (Some(r#"{"currentContext":"default"}"#), None),
            (Some(r#"{"currentContext":""}"#), None),
            (Some(r#"{"currentContext":7}"#), Some("Docker's configuration: its `currentContext` is no text")),
            (Some("{"), Some("Docker's configuration: its file `config.json` is no JSON")),
            (Some("folder"), Some("Docker's configuration: its file `config.json` cannot be read")),
            (Some("huge"), Some("Docker's configuration: its file `config.json` has more than 8 MiB")),
            (Some(large.as_str()), Some("the Docker context 'far': there is none of that name, or it cannot be read")),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("config.json");
            match configuration {
                None => {}
                Some("folder") => std::fs::create_dir(path).unwrap(),
                Some("huge") => std::fs::File::create(path).unwrap().set_len(CONFIG_BYTES + 1).unwrap(),
                Some(text) => std::fs::write(path, text).unwrap(),
            }
            let named = named_by_configuration(folder.path(), None);
            assert_eq!(named.is_some(), source.is_some(), "{configuration:?}");
            if let (Some(named), Some(source)) = (named, source) {
                let reason = hello(&named).await.unwrap_err();
                assert_eq!(format!("{}: {}", named.source, reason.text), source);
            }
        }
    }

    #[test]
    fn a_context_is_found_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let meta = folder.path().join("contexts/meta/0123");
        std::fs::create_dir_all(&meta).unwrap();
        let text = r#"{"Name":"far","Endpoints":{"docker":{"Host":"tcp://far:2376","SkipTLSVerify":true}}}"#;
        std::fs::write(meta.join("meta.json"), text).unwrap();
        // One that is broken hides no other.
        std::fs::create_dir_all(folder.path().join("contexts/meta/0000/meta.json")).unwrap();
        std::fs::write(folder.path().join("config.json"), r#"{"currentContext":"other"}"#).unwrap();
        let found = |name: &str| named_by_configuration(folder.path(), Some(name.to_owned()));
        let far = found("far").unwrap();
        assert_eq!((far.source.as_str(), far.address), ("the Docker context 'far'", Ok("tcp://far:2376".to_owned())));
        assert!(!far.tls.unwrap().verify);
        assert!(found("default").is_none());
        assert!(found("near").unwrap().address.is_err());
        // What is set by the environment stands before the configuration.
        assert_eq!(named_by_configuration(folder.path(), None).unwrap().source, "the Docker context 'other'");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_socket_that_nobody_serves_is_an_error_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dead.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let error = connect(Some(&format!("unix://{}", path.display()))).await.unwrap_err();
        assert!(error.message().contains("nobody listens there"), "{error}");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn an_engine_that_says_nothing_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mute.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let error = connect(Some(&format!("unix://{}", path.display()))).await.unwrap_err();
        assert!(error.message().contains("no answer within 5 s"), "{error}");
    }
}
