//! Images: pulled when they are missing, or built once and found again by their content (BE-131).

use std::sync::Arc;

use serde_json::{Value, json};

use super::build::build;
use super::calls::text;
use super::client::{Engine, Failure, Path, Payload};
use super::engine::refused;
use super::locks;
use super::options::{DockerOptions, Pull};
use super::runtime::{DIGESTS, REPOSITORY, Runtime, check_image, image_tag};
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::text::ansi;

/// Is handed what a build or a pull says.
pub type BuildProgress = Arc<dyn Fn(&str) + Send + Sync>;

/// The image that `options` ask for, built if it must be; whether it can be pulled is found out when it is used.
pub(super) async fn image(
    engine: &Engine,
    options: &DockerOptions,
    progress: Option<&BuildProgress>,
) -> Result<Option<String>> {
    match (&options.image, &options.runtime) {
        (Some(_), Some(_)) => Err(Error::invalid("Give `image` or `runtime`, not both.")),
        (Some(image), None) => {
            check_image(image)?;
            Ok(Some(image.clone()))
        }
        (None, Some(runtime)) => build_runtime(engine, runtime, options, progress).await.map(Some),
        (None, None) => Ok(None),
    }
}

/// The image of a runtime: its `image` as it is, or one built from its `baseImage`, unless that was done before. Images of
/// the same name with other content that nothing uses are removed.
async fn build_runtime(
    engine: &Engine,
    runtime: &Runtime,
    options: &DockerOptions,
    progress: Option<&BuildProgress>,
) -> Result<String> {
    runtime.check()?;
    if let Some(image) = &runtime.image {
        return Ok(image.clone());
    }
    let tag = image_tag(runtime)?;
    // Fifty sessions of one runtime are one build; the others look again and find it.
    let _alone = locks::alone(engine, &tag).await;
    if runtime.cache_image {
        match engine.ask("GET", &Path::new("/images").name(&tag).then("json"), Payload::Nothing).await {
            Ok(_) => return Ok(tag),
            Err(failure) if failure.is_missing() => {}
            Err(failure) => return Err(refused("look for an image", &failure)),
        }
    }
    build(engine, runtime, &tag, options, progress).await?;
    remove_superseded(engine, runtime, &tag).await;
    Ok(tag)
}

/// What the engine says of the image that a runtime builds on, pulled when it is missing and that is wanted; nothing of `scratch`,
/// which is none. A builder that pulls by itself asks nobody whether it may.
pub(super) async fn fetch_base(
    engine: &Engine,
    runtime: &Runtime,
    options: &DockerOptions,
    progress: Option<&BuildProgress>,
) -> Result<Option<Value>> {
    let Some(base) = runtime.base_image.as_deref().filter(|base| *base != "scratch") else { return Ok(None) };
    let path = Path::new("/images").name(base).then("json");
    let mut image = engine.ask("GET", &path, Payload::Nothing).await;
    if image.as_ref().is_err_and(Failure::is_missing) {
        pull(engine, base, options, progress).await?;
        image = engine.ask("GET", &path, Payload::Nothing).await;
    }
    image.map(Some).map_err(|failure| refused("look for an image", &failure))
}

/// Where an image of ours is from, as engines say it: Docker nothing, Podman that it is from here, or from where its builder of
/// Docker's interface puts what has no other place. It is found by that only.
const ORIGINS: [&str; 3] = ["", "localhost/", "docker.io/library/"];

/// Best effort: an image that a container uses stays, and the next build tries again.
async fn remove_superseded(engine: &Engine, runtime: &Runtime, kept: &str) {
    let prefix = format!("{REPOSITORY}:{}-", runtime.name);
    // One by one: of several patterns Podman wants all to fit.
    for origin in ORIGINS {
        let filters = json!({ "reference": [format!("{origin}{prefix}*")] }).to_string();
        let list = engine.ask("GET", &Path::new("/images/json").with("filters", &filters), Payload::Nothing).await;
        for image in list.unwrap_or_default().as_array().into_iter().flatten() {
            let tags = image.get("RepoTags").and_then(Value::as_array).into_iter().flatten();
            for tag in tags.filter_map(Value::as_str) {
                let Some(plain) = tag.strip_prefix(origin) else { continue };
                // `a-*` is also a name of `a-b`: only a digest may follow.
                let is_ours = plain.strip_prefix(&prefix).is_some_and(|digest| {
                    DIGESTS.contains(&digest.len()) && digest.chars().all(|c| c.is_ascii_hexdigit())
                });
                if is_ours && plain != kept {
                    let _ = engine.ask("DELETE", &Path::new("/images").name(tag), Payload::Nothing).await;
                }
            }
        }
    }
}

/// Gets what a container was asked of and the engine does not have: an image of ours is built again, as no registry has
/// it (and whoever took its name there must not be asked); another one is pulled.
pub(super) async fn fetch(
    engine: &Engine,
    image: &str,
    options: &DockerOptions,
    progress: Option<&BuildProgress>,
) -> Result<()> {
    match &options.runtime {
        Some(runtime) if runtime.image.is_none() => build_runtime(engine, runtime, options, progress).await.map(drop),
        _ => pull(engine, image, options, progress).await,
    }
}

/// Pulls what is missing, if that is wanted.
async fn pull(engine: &Engine, image: &str, options: &DockerOptions, progress: Option<&BuildProgress>) -> Result<()> {
    if options.pull == Pull::Never {
        return Err(missing(image, "and `pull` is 'never'"));
    }
    let (name, tag) = match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') && !image.contains('@') => (name, Some(tag.to_owned())),
        _ if image.contains('@') => (image, None),
        _ => (image, Some("latest".to_owned())),
    };
    let path = Path::new("/images/create").with("fromImage", name);
    let path = if let Some(tag) = tag { path.with("tag", &tag) } else { path };
    let hear = |said: &Value| {
        if let (Some(progress), Some(status)) = (progress, text(said, "status")) {
            progress(&format!("{}\n", ansi::strip(status)));
        }
    };
    engine.follow(&path, Payload::Nothing, hear).await.map_err(|failure| {
        let error = missing(image, "and it cannot be pulled");
        match refused("pull an image", &failure).details() {
            Some(details) => error.with_details(details.clone()),
            None => error,
        }
    })
}

fn missing(image: &str, why: &str) -> Error {
    Error::new(
        ErrorKind::BackendUnavailable,
        format!("The engine does not have the image '{}' {why}. Pull or build it first.", Shown(image)),
    )
}
