//! Who builds an image, and how it is asked (BE-131).
//!
//! BuildKit keeps what package managers download for the next build, and is part of every Docker engine since 20.10: it is asked by
//! the same request as the builder of before, with the Dockerfile as its body. Podman's builder keeps it as well. Where neither is,
//! the image is the same one and the next build downloads everything again.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::calls::text;
use super::client::{Engine, Failure, Path, Payload};
use super::engine::refused;
use super::guest::archive_of;
use super::image::{BuildProgress, fetch_base};
use super::install::Keep;
use super::options::DockerOptions;
use super::runtime::{Runtime, written};
use super::spec::{CPU_PERIOD, bytes, cpu_quota, network};
use super::trace::Trace;
use crate::error::{Error, ErrorKind, Result};
use crate::text::ansi::AnsiStripper;

/// 4 KiB of what a failed build said last go into the error.
const TAIL_BYTES: usize = 4 << 10;
/// The interface of Docker 20.10: the first whose BuildKit knows of kept downloads without being told to fetch more of itself.
const BUILDKIT_SINCE: (u32, u32) = (1, 41);
/// Podman 4, with the first builder that shares what is kept between builds.
const PODMAN_SINCE: u32 = 4;
/// What BuildKit's messages are called among those of a build.
const TRACE: &str = "moby.buildkit.trace";

/// Who builds the images of runtimes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Builder {
    /// BuildKit where the engine has it, else the builder that it has.
    #[default]
    Auto,
    /// BuildKit, or an error.
    BuildKit,
    /// The builder of before BuildKit, which keeps no downloads.
    Classic,
}

/// What an engine builds with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    BuildKit,
    /// Podman's, asked like the classic one.
    Buildah,
    Classic,
}

/// What a build says: to whoever hears it, and the end of it for the error where it fails.
#[derive(Default)]
struct Said<'a> {
    progress: Option<&'a BuildProgress>,
    tail: String,
    trace: Trace,
    /// What packages print while they are installed is shown at terminals.
    stripper: AnsiStripper,
    /// Whether BuildKit said anything: from then on the build is its own.
    begun: bool,
}

/// Builds the image of a runtime under the name `tag`.
pub(super) async fn build(
    engine: &Engine,
    runtime: &Runtime,
    tag: &str,
    options: &DockerOptions,
    progress: Option<&BuildProgress>,
) -> Result<()> {
    let kind = kind(engine, options.builder).await?;
    let keep = fetch_base(engine, runtime, options, progress).await?.as_ref().and_then(Keep::on);
    let mut said = Said { progress, ..Said::default() };
    let mut ended = ask(engine, runtime, tag, kind, options, keep.as_ref(), &mut said).await?;
    if kind == Kind::BuildKit && options.builder == Builder::Auto && !said.begun && is_refusal(ended.as_ref()) {
        options
            .notices
            .say("The engine's BuildKit refused to build: the classic builder does, which keeps no downloads.");
        ended = ask(engine, runtime, tag, Kind::Classic, options, None, &mut said).await?;
    }
    match ended {
        Ok(()) => Ok(()),
        Err(Failure::Broken(why)) => Err(Error::new(
            ErrorKind::BackendUnavailable,
            // The engine says the whole command that failed, with whatever is secret in it: not for a model.
            format!("The image of the runtime '{}' cannot be built; the error's details say why.", runtime.name),
        )
        .with_details(json!({ "message": why.trim(), "output": said.tail }))),
        Err(failure) => Err(refused("build an image", &failure)),
    }
}

/// Whether an engine that was asked says no, instead of having been lost.
fn is_refusal(ended: Result<&(), &Failure>) -> bool {
    matches!(ended, Err(Failure::Refused { .. } | Failure::Broken(_)))
}

async fn kind(engine: &Engine, wanted: Builder) -> Result<Kind> {
    if wanted == Builder::Classic {
        return Ok(Kind::Classic);
    }
    let said = engine.ask("GET", &Path::new("/version"), Payload::Nothing).await;
    let kind = kind_of(&said.map_err(|failure| refused("describe itself", &failure))?);
    if wanted == Builder::BuildKit && kind != Kind::BuildKit {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "The container engine has no BuildKit, which is part of Docker since 20.10. Leave `builder` out, and the image is built \
             by what it has.",
        ));
    }
    Ok(kind)
}

/// What an engine that says this of itself builds with. What is not known is asked as every engine can be.
fn kind_of(version: &Value) -> Kind {
    let number = |name: &str| {
        let mut parts = text(version, name)?.split('.').map_while(|part| part.parse().ok());
        Some((parts.next()?, parts.next().unwrap_or(0)))
    };
    let parts = version.get("Components").and_then(Value::as_array).into_iter().flatten();
    for part in parts.filter_map(|part| text(part, "Name")) {
        match part {
            "Podman Engine" if number("Version").is_some_and(|(major, _)| major >= PODMAN_SINCE) => {
                return Kind::Buildah;
            }
            "Podman Engine" => return Kind::Classic,
            // On Windows it builds nothing.
            "Engine" if text(version, "Os") == Some("linux") && number("ApiVersion") >= Some(BUILDKIT_SINCE) => {
                return Kind::BuildKit;
            }
            _ => {}
        }
    }
    Kind::Classic
}

async fn ask(
    engine: &Engine,
    runtime: &Runtime,
    tag: &str,
    kind: Kind,
    options: &DockerOptions,
    keep: Option<&Keep>,
    said: &mut Said<'_>,
) -> Result<Result<(), Failure>> {
    let keep = keep.filter(|_| kind != Kind::Classic);
    let context = archive_of("Dockerfile", written(runtime, keep)?.as_bytes());
    let mut path =
        Path::new("/build").with("dockerfile", "Dockerfile").with("t", tag).with("rm", "1").with("forcerm", "1");
    if !runtime.cache_image {
        path = path.with("nocache", "1");
    }
    path = bounded(path, options)?;
    if kind == Kind::BuildKit {
        path = path.with("version", "2");
    }
    if let Some(name) = build_network(engine, kind, options).await? {
        path = path.with("networkmode", &name);
    }
    Ok(engine.follow(&path, Payload::Archive(&context), |message| said.hear(message)).await)
}

/// The network of a build, where the engine is told of one.
async fn build_network(engine: &Engine, kind: Kind, options: &DockerOptions) -> Result<Option<String>> {
    if let Some(name) = &options.build_network {
        return network("buildNetwork", name).map(Some);
    }
    if kind != Kind::BuildKit {
        return Ok(None);
    }
    // An engine without its usual network builds without one, as its containers run; BuildKit must be told.
    let bridge = engine.ask("GET", &Path::new("/networks").name("bridge"), Payload::Nothing).await;
    Ok(bridge.is_err_and(|failure| failure.is_missing()).then(|| "none".to_owned()))
}

/// What the programs of a build may use: as much as the container, each of them. BuildKit itself holds none of it.
fn bounded(path: Path, options: &DockerOptions) -> Result<Path> {
    let swap = options.memory_swap.unwrap_or(options.memory);
    Ok(path
        .with("memory", &bytes("memory", options.memory)?.to_string())
        .with("memswap", &bytes("memorySwap", swap)?.to_string())
        .with("cpuperiod", &CPU_PERIOD.to_string())
        .with("cpuquota", &cpu_quota(options.cpus)?.to_string()))
}

impl Said<'_> {
    fn hear(&mut self, message: &Value) {
        if text(message, "id") == Some(TRACE) {
            self.begun = true;
            let decoded = text(message, "aux").and_then(|trace| STANDARD.decode(trace).ok());
            let told = self.trace.said(&decoded.unwrap_or_default());
            return self.tell(&told);
        }
        self.tell(text(message, "stream").or_else(|| text(message, "status")).unwrap_or_default().as_bytes());
    }

    fn tell(&mut self, bytes: &[u8]) {
        let mut text = String::new();
        self.stripper.push(bytes, &mut text);
        if text.is_empty() {
            return;
        }
        if let Some(progress) = self.progress {
            progress(&text);
        }
        self.tail.push_str(&text);
        if self.tail.len() > TAIL_BYTES {
            let cut = self.tail.ceil_char_boundary(self.tail.len() - TAIL_BYTES);
            self.tail.drain(..cut);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::super::life_tests::{Fake, Says};
    use super::super::options::Notices;
    use super::*;

    #[test]
    fn an_engine_is_asked_for_what_it_can() {
        let engine = |part: &str, version: &str, api: &str, os: &str| json!({ "Components": [{ "Name": "x" }, { "Name": part }], "Version": version, "ApiVersion": api, "Os": os });
        for (said, kind) in [
            (engine("Engine", "20.10.24+dfsg1", "1.41", "linux"), Kind::BuildKit),
            (engine("Engine", "29.0.1", "1.52", "linux"), Kind::BuildKit),
            (engine("Engine", "19.03.15", "1.40", "linux"), Kind::Classic),
            (engine("Engine", "28.0.0", "1.48", "windows"), Kind::Classic),
            (engine("Podman Engine", "4.3.1", "1.41", "linux"), Kind::Buildah),
            (engine("Podman Engine", "5.0.0-rc1", "1.41", "linux"), Kind::Buildah),
            (engine("Podman Engine", "3.4.4", "1.40", "linux"), Kind::Classic),
            (engine("Something", "9", "1.99", "linux"), Kind::Classic),
            (json!({}), Kind::Classic),
        ] {
            assert_eq!(kind_of(&said), kind, "{said}");
        }
    }

    #[test]
    fn a_build_is_asked_for_with_the_bounds_of_the_container() {
        let options = DockerOptions { memory: 64 << 20, cpus: 0.5, ..DockerOptions::default() };
        assert_eq!(
            bounded(Path::new("/build"), &options).unwrap().as_str(),
            "/build?memory=67108864&memswap=67108864&cpuperiod=100000&cpuquota=50000"
        );
        let options = DockerOptions { memory_swap: Some(128 << 20), ..options };
        assert!(bounded(Path::new("/build"), &options).unwrap().as_str().contains("memswap=134217728"));
    }

    #[tokio::test]
    async fn an_engine_without_its_usual_network_is_told_to_build_without_one() {
        let says = |status: &'static str| Fake::new(move |_, _| Says::Answer(status, "{}"));
        let (with, without) = (says("200 OK"), says("404 Not Found"));
        let named = DockerOptions { build_network: Some("mine".to_owned()), ..DockerOptions::default() };
        for (fake, kind, options, network) in [
            (&without, Kind::BuildKit, DockerOptions::default(), Some("none")),
            (&with, Kind::BuildKit, DockerOptions::default(), None),
            (&without, Kind::Classic, DockerOptions::default(), None),
            (&without, Kind::BuildKit, named, Some("mine")),
        ] {
            let told = build_network(&fake.engine().await, kind, &options).await.unwrap();
            assert_eq!(told.as_deref(), network, "{kind:?} {options:?}");
        }
    }

    const DOCKER: &str = r#"{"Components":[{"Name":"Engine"}],"Os":"linux","ApiVersion":"1.44"}"#;
    const BUILD: &str = "POST /build";

    async fn built(fake: &Fake, builder: Builder) -> (Result<()>, Vec<String>, Vec<String>) {
        let runtime: Runtime = serde_json::from_str(r#"{ "name": "n", "baseImage": "b" }"#).unwrap();
        let [noticed, heard] = [(); 2].map(|()| Arc::new(Mutex::new(Vec::new())));
        let keep = |list: &Arc<Mutex<Vec<String>>>| {
            let list = Arc::clone(list);
            move |text: &str| list.lock().push(text.to_owned())
        };
        let options =
            DockerOptions { builder, notices: Notices::to(Arc::new(keep(&noticed))), ..DockerOptions::default() };
        let progress: BuildProgress = Arc::new(keep(&heard));
        let ended = build(&fake.engine().await, &runtime, "n:tag", &options, Some(&progress)).await;
        let lists = (noticed.lock().clone(), heard.lock().clone());
        (ended, lists.0, lists.1)
    }

    #[tokio::test]
    async fn buildkit_that_was_asked_for_and_is_not_there_is_an_error() {
        let fake = Fake::that_is(r#"{"Components":[{"Name":"Podman Engine"}],"Version":"5.0.0"}"#, |_, _| Says::Ends);
        let error = built(&fake, Builder::BuildKit).await.0.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().starts_with("The container engine has no BuildKit"), "{error}");
    }

    #[tokio::test]
    async fn where_buildkit_refuses_the_classic_builder_builds_and_the_author_is_told() {
        let says = |question: &str, times: usize| match (question, times) {
            (BUILD, 1) => Says::Answer("400 Bad Request", r#"{"message":"not here"}"#),
            (BUILD, _) => Says::Answer("200 OK", r#"{"stream":"a \u001b[31mred\u001b[0m word"}"#),
            _ => Says::Answer("200 OK", "{}"),
        };
        let (ended, noticed, heard) = built(&Fake::that_is(DOCKER, says), Builder::Auto).await;
        ended.unwrap();
        assert!(noticed[0].starts_with("The engine's BuildKit refused"), "{noticed:?}");
        assert_eq!(heard, ["a red word"]);
        // Who asked for it hears the refusal.
        let (ended, noticed, _) = built(&Fake::that_is(DOCKER, says), Builder::BuildKit).await;
        assert_eq!(ended.unwrap_err().details().unwrap()["message"], "not here");
        assert!(noticed.is_empty());
    }

    #[tokio::test]
    async fn what_buildkit_began_is_not_built_again() {
        let fake = Fake::that_is(DOCKER, |question, times| match (question, times) {
            (BUILD, 1) => Says::Answer(
                "200 OK",
                concat!(
                    r#"{"id":"moby.buildkit.trace","aux":"Cn0KR3NoYTI1Njo4YmVlNzJkMTFkZjg0M2JhNTY4NDM4ZTA0NDNhOGFmMjEwODUxMGYwZDZh"#,
                    r#"ZWY2ZmQ5ODdmMDI2YTc1ZWNkYTI0GiRbaW50ZXJuYWxdIGxvYWQgcmVtb3RlIGJ1aWxkIGNvbnRleHQqDAjp1ovYBhC6h8PjAQ=="}"#,
                    "\n",
                    r#"{"errorDetail":{"message":"exit code: 9"},"error":"exit code: 9"}"#
                ),
            ),
            (BUILD, _) => panic!("built again"),
            _ => Says::Answer("200 OK", "{}"),
        });
        let (ended, noticed, heard) = built(&fake, Builder::Auto).await;
        let error = ended.unwrap_err();
        assert!(error.message().contains("'n' cannot be built"), "{error}");
        assert_eq!(error.details().unwrap()["output"], "[internal] load remote build context\n");
        assert_eq!((noticed.len(), heard.len()), (0, 1));
    }
}
