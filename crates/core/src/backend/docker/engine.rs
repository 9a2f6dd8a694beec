//! Finds a container engine.
//!
//! One that was named is the only one tried. Otherwise `DOCKER_HOST`, the current Docker context, and the sockets where
//! Docker and Podman usually are, in this order; the first that answers is taken, unless one was named by the
//! environment: that one's silence is an error, not a reason to use another machine.

use std::path::PathBuf;
use std::time::Duration;

use bollard::{API_DEFAULT_VERSION, Docker};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::error::{Error, ErrorKind, Result, Shown};

/// 5 s for an engine to say that it is there.
const HELLO: Duration = Duration::from_secs(5);
/// 600 s for one request: a build or a pull sends its progress all the time, everything else is quick.
const REQUEST_SECONDS: u64 = 600;
/// 64 KiB: what a Docker configuration file may have at most to be read.
const CONFIG_BYTES: u64 = 64 << 10;

/// An address, and where it came from.
struct Candidate {
    source: String,
    address: String,
}

/// A client of an engine that answers.
pub(super) async fn connect(host: Option<&str>) -> Result<Docker> {
    let named = match host {
        Some(host) => Some(Candidate { source: "the `host` option".to_owned(), address: host.to_owned() }),
        None => named_by_environment(),
    };
    let candidates = match named {
        Some(candidate) => vec![candidate],
        None => usual_sockets(),
    };
    let mut tried = Vec::new();
    for candidate in &candidates {
        match hello(&candidate.address).await {
            Ok(docker) => return Ok(docker),
            Err(reason) => tried.push((candidate, reason)),
        }
    }
    Err(unreachable(&tried))
}

async fn hello(address: &str) -> Result<Docker, String> {
    let docker = open(address)?;
    match timeout(HELLO, docker.negotiate_version()).await {
        Ok(Ok(docker)) => Ok(docker),
        Ok(Err(error)) => Err(reason(&error)),
        Err(_) => Err(format!("no answer within {} s", HELLO.as_secs())),
    }
}

fn open(address: &str) -> Result<Docker, String> {
    let scheme = address.split_once("://").map_or("", |(scheme, _)| scheme);
    let opened = match scheme {
        "unix" | "npipe" => Docker::connect_with_local(address, REQUEST_SECONDS, API_DEFAULT_VERSION),
        "tcp" | "http" => {
            if std::env::var_os("DOCKER_TLS_VERIFY").is_some_and(|value| !value.is_empty()) {
                return Err(TLS.to_owned());
            }
            Docker::connect_with_http(address, REQUEST_SECONDS, API_DEFAULT_VERSION)
        }
        "https" => return Err(TLS.to_owned()),
        "ssh" => {
            return Err(
                "ssh is not spoken here; forward the remote socket (ssh -L /path/docker.sock:/var/run/docker.sock) \
                        and name it as unix:///path/docker.sock"
                    .to_owned(),
            );
        }
        _ => return Err("an address begins with unix://, tcp:// or npipe://".to_owned()),
    };
    opened.map_err(|error| reason(&error))
}

const TLS: &str = "TLS is not spoken here; forward the remote socket by ssh and name it as unix://…";

fn reason(error: &bollard::errors::Error) -> String {
    use bollard::errors::Error as E;
    match error {
        E::SocketNotFoundError(_) => "there is no such socket".to_owned(),
        E::RequestTimeoutError => "no answer in time".to_owned(),
        E::DockerResponseServerError { status_code, .. } => format!("it answered {status_code}"),
        E::HyperLegacyError { err } => {
            let mut source = std::error::Error::source(err);
            while let Some(error) = source {
                if let Some(error) = error.downcast_ref::<std::io::Error>() {
                    return match error.kind() {
                        std::io::ErrorKind::PermissionDenied => {
                            "this user may not use the socket (membership of the group `docker` would help)".to_owned()
                        }
                        std::io::ErrorKind::ConnectionRefused => "nobody listens there".to_owned(),
                        kind => kind.to_string(),
                    };
                }
                source = error.source();
            }
            "no connection".to_owned()
        }
        _ => "it does not speak the Docker protocol".to_owned(),
    }
}

/// The addresses go into the details: a model that reads the message has no use for the paths of this machine.
fn unreachable(tried: &[(&Candidate, String)]) -> Error {
    let list: Vec<String> =
        tried.iter().map(|(candidate, reason)| format!("{}: {}", candidate.source, Shown(reason))).collect();
    let details: Vec<Value> = tried
        .iter()
        .map(
            |(candidate, reason)| json!({ "source": candidate.source, "address": candidate.address, "reason": reason }),
        )
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

fn named_by_environment() -> Option<Candidate> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(address) = set("DOCKER_HOST") {
        return Some(Candidate { source: "DOCKER_HOST".to_owned(), address });
    }
    let folder = set("DOCKER_CONFIG").map(PathBuf::from).or_else(|| Some(home()?.join(".docker")))?;
    let name = set("DOCKER_CONTEXT")
        .or_else(|| read_json(folder.join("config.json"))?.get("currentContext")?.as_str().map(str::to_owned))?;
    if name.is_empty() || name == "default" {
        return None;
    }
    let source = format!("the Docker context '{}'", Shown(&name));
    // A context lies in a folder named by a hash of its name; its own file says which one it is.
    let contexts = std::fs::read_dir(folder.join("contexts").join("meta")).into_iter().flatten().flatten();
    let address = contexts.filter_map(|entry| read_json(entry.path().join("meta.json"))).find_map(|meta| {
        let is_it = meta.get("Name").and_then(Value::as_str) == Some(name.as_str());
        let host = meta.pointer("/Endpoints/docker/Host").and_then(Value::as_str);
        if is_it { host.map(str::to_owned) } else { None }
    });
    // A context that is named and cannot be read is tried, and fails by name.
    Some(Candidate { source, address: address.unwrap_or_default() })
}

fn usual_sockets() -> Vec<Candidate> {
    if cfg!(windows) {
        return vec![Candidate {
            source: "the pipe of Docker Desktop".to_owned(),
            address: "npipe:////./pipe/docker_engine".to_owned(),
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
            Some(Candidate { source: source.to_owned(), address: format!("unix://{}", path?.to_str()?) })
        })
        .collect()
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

fn read_json(path: PathBuf) -> Option<Value> {
    let facts = std::fs::metadata(&path).ok()?;
    if !facts.is_file() || facts.len() > CONFIG_BYTES {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Whether the error says that nothing has that name.
pub(super) fn is_missing(error: &bollard::errors::Error) -> bool {
    matches!(error, bollard::errors::Error::DockerResponseServerError { status_code: 404, .. })
}

/// Whether the error says that it is so already, or is being done.
pub(super) fn is_conflict(error: &bollard::errors::Error) -> bool {
    matches!(error, bollard::errors::Error::DockerResponseServerError { status_code: 304 | 409, .. })
}

/// What the engine refused. Its words go into the details only: they name places of its machine.
pub(super) fn refused(doing: &str, error: &bollard::errors::Error) -> Error {
    use bollard::errors::Error as E;
    match error {
        E::DockerResponseServerError { status_code, message } => {
            Error::new(ErrorKind::BackendUnavailable, format!("The container engine refused to {doing}."))
                .with_details(json!({ "status": status_code, "message": message }))
        }
        E::DockerStreamError { error } => {
            Error::new(ErrorKind::BackendUnavailable, format!("The container engine failed to {doing}."))
                .with_details(json!({ "message": error }))
        }
        error => Error::new(
            ErrorKind::BackendUnavailable,
            format!("The container engine was lost while it should {doing}: {}.", reason(error)),
        ),
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
            ("ssh://user@machine", "ssh is not spoken here"),
            ("https://machine:2376", "TLS is not spoken here"),
            ("machine", "an address begins with"),
        ] {
            let error = connect(Some(address)).await.unwrap_err();
            assert!(error.message().contains(reason), "{error}");
        }
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
