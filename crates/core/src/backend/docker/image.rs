//! Images: pulled when they are missing, or built once and found again by their content (BE-131).

use std::collections::HashMap;
use std::sync::Arc;

use bollard::Docker;
use bollard::query_parameters::{BuildImageOptions, CreateImageOptions, ListImagesOptions, RemoveImageOptions};
use futures_util::StreamExt;
use serde_json::json;

use super::engine::{is_missing, refused};
use super::options::{DockerOptions, Pull};
use super::runtime::{REPOSITORY, Runtime, check_image, dockerfile, image_tag};
use crate::error::{Error, ErrorKind, Result, Shown};

/// Is handed what a build or a pull says.
pub type BuildProgress = Arc<dyn Fn(&str) + Send + Sync>;

/// 4 KiB of what a failed build said last go into the error.
const TAIL_BYTES: usize = 4 << 10;

/// The image that `options` ask for, built if it must be; whether it can be pulled is found out when it is used.
pub(super) async fn image(
    docker: &Docker,
    options: &DockerOptions,
    progress: Option<&BuildProgress>,
) -> Result<Option<String>> {
    match (&options.image, &options.runtime) {
        (Some(_), Some(_)) => Err(Error::invalid("Give `image` or `runtime`, not both.")),
        (Some(image), None) => {
            check_image(image)?;
            Ok(Some(image.clone()))
        }
        (None, Some(runtime)) => build_runtime(docker, runtime, progress).await.map(Some),
        (None, None) => Ok(None),
    }
}

/// The image of a runtime: its `image` as it is, or one built from its `baseImage`, unless that was done before. Images of
/// the same name with other content that nothing uses are removed.
pub async fn build_runtime(docker: &Docker, runtime: &Runtime, progress: Option<&BuildProgress>) -> Result<String> {
    if let Some(image) = &runtime.image {
        if runtime.base_image.is_some() {
            return Err(Error::invalid(format!(
                "The runtime '{}' has both an `image` and a `baseImage`.",
                Shown(&runtime.name)
            )));
        }
        check_image(image)?;
        return Ok(image.clone());
    }
    let tag = image_tag(runtime)?;
    if runtime.cache_image {
        match docker.inspect_image(&tag).await {
            Ok(_) => return Ok(tag),
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(refused("look for an image", &error)),
        }
    }
    build(docker, runtime, &tag, progress).await?;
    remove_superseded(docker, runtime, &tag).await;
    Ok(tag)
}

async fn build(docker: &Docker, runtime: &Runtime, tag: &str, progress: Option<&BuildProgress>) -> Result<()> {
    let options = BuildImageOptions {
        dockerfile: "Dockerfile".to_owned(),
        t: Some(tag.to_owned()),
        nocache: !runtime.cache_image,
        rm: true,
        forcerm: true,
        ..BuildImageOptions::default()
    };
    let context = super::guest::archive_of("Dockerfile", dockerfile(runtime)?.as_bytes());
    let mut stream = docker.build_image(options, None, Some(bollard::body_full(context.into())));
    let mut tail = String::new();
    while let Some(said) = stream.next().await {
        let failed = match said {
            Ok(said) => {
                let text = said.stream.or(said.status).unwrap_or_default();
                tell(progress, &text, &mut tail);
                match said.error_detail {
                    Some(error) => error.message.unwrap_or_default(),
                    None => continue,
                }
            }
            Err(bollard::errors::Error::DockerStreamError { error }) => error,
            Err(error) => return Err(refused("build an image", &error)),
        };
        return Err(Error::new(
            ErrorKind::BackendUnavailable,
            format!("The image of the runtime '{}' cannot be built: {}", runtime.name, Shown(failed.trim())),
        )
        .with_details(json!({ "output": tail })));
    }
    Ok(())
}

fn tell(progress: Option<&BuildProgress>, text: &str, tail: &mut String) {
    if text.is_empty() {
        return;
    }
    if let Some(progress) = progress {
        progress(text);
    }
    tail.push_str(text);
    if tail.len() > TAIL_BYTES {
        let cut = tail.ceil_char_boundary(tail.len() - TAIL_BYTES);
        tail.drain(..cut);
    }
}

/// Best effort: an image that a container uses stays, and the next build tries again.
async fn remove_superseded(docker: &Docker, runtime: &Runtime, kept: &str) {
    let pattern = format!("{REPOSITORY}:{}-*", runtime.name);
    let filters = HashMap::from([("reference".to_owned(), vec![pattern])]);
    let options = ListImagesOptions { filters: Some(filters), ..ListImagesOptions::default() };
    let prefix = format!("{REPOSITORY}:{}-", runtime.name);
    for image in docker.list_images(Some(options)).await.unwrap_or_default() {
        for tag in image.repo_tags.iter().filter(|tag| *tag != kept) {
            // `a-*` is also a name of `a-b`: only a digest may follow.
            let is_ours = tag
                .strip_prefix(&prefix)
                .is_some_and(|digest| digest.len() == 32 && digest.chars().all(|c| c.is_ascii_hexdigit()));
            if is_ours {
                let _ = docker.remove_image(tag, None::<RemoveImageOptions>, None).await;
            }
        }
    }
}

/// Pulls what is missing, if that is wanted.
pub(super) async fn pull(
    docker: &Docker,
    image: &str,
    options: &DockerOptions,
    progress: Option<&BuildProgress>,
) -> Result<()> {
    if options.pull == Pull::Never {
        return Err(missing(image, "and `pull` is 'never'"));
    }
    let (name, tag) = match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') && !image.contains('@') => (name, Some(tag.to_owned())),
        _ if image.contains('@') => (image, None),
        _ => (image, Some("latest".to_owned())),
    };
    let options = CreateImageOptions { from_image: Some(name.to_owned()), tag, ..CreateImageOptions::default() };
    let mut stream = docker.create_image(Some(options), None, None);
    while let Some(said) = stream.next().await {
        match said {
            Ok(said) => {
                if let (Some(progress), Some(status)) = (progress, said.status) {
                    progress(&format!("{status}\n"));
                }
                if said.error_detail.is_some() {
                    return Err(missing(image, "and it cannot be pulled"));
                }
            }
            Err(_) => return Err(missing(image, "and it cannot be pulled")),
        }
    }
    Ok(())
}

fn missing(image: &str, why: &str) -> Error {
    Error::new(
        ErrorKind::BackendUnavailable,
        format!("The engine does not have the image '{}' {why}. Pull or build it first.", Shown(image)),
    )
}
