//! Containers: made from options, started, stopped and looked at.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gloveport_core::backend::docker::{
    BuildProgress, DockerBackend, DockerOptions, GuestProgram, Notices, Runtime, builtin_runtime, builtin_runtimes,
    dockerfile, engine_room, image_tag,
};
use gloveport_core::cancel::Deadline;
use gloveport_core::error::{Error, Result};
use napi::Status;
use napi::bindgen_prelude::{Env, Function, PromiseRaw};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use serde_json::{Value, json};

use crate::backend::NativeBackend;
use crate::convert::{NativeCancel, NativeError, NativeOutcome, parse, token_of};
use crate::sandbox::NativeSandbox;

/// 1,024: pieces of progress that wait for JavaScript; what does not fit is dropped, as nobody reads that fast.
const PROGRESS_QUEUE: usize = 1_024;

/// A container, or why there is none.
#[napi(object, object_from_js = false)]
pub struct NativeDockerMade {
    /// The container.
    pub docker: Option<NativeDocker>,
    /// The failure.
    pub error: Option<NativeError>,
}

/// What a container can do beyond the methods of every backend.
#[napi]
pub struct NativeDocker {
    inner: Arc<DockerBackend>,
}

#[napi]
impl NativeDocker {
    /// A container of `options_json` (`DockerBackendOptions`); `guests[i]` is the path of the guest program for the
    /// processor `processors[i]`, as the engine names it. `on_notice` hears of what works less well than it could.
    #[napi(catch_unwind)]
    pub fn create(
        options_json: String,
        sandbox: Option<&NativeSandbox>,
        processors: Vec<String>,
        guests: Vec<String>,
        #[napi(ts_arg_type = "((text: string) => void) | undefined | null")] on_progress: Option<
            Function<'_, String, ()>,
        >,
        #[napi(ts_arg_type = "(text: string) => void")] on_notice: Function<'_, String, ()>,
    ) -> napi::Result<NativeDockerMade> {
        let notices = Notices::to(progress(on_notice)?);
        let progress = on_progress.map(progress).transpose()?;
        let guest = GuestProgram::from_paths(processors.into_iter().zip(guests.into_iter().map(PathBuf::from)));
        let made = parse::<DockerOptions>(&options_json).and_then(|options| {
            let sandbox = sandbox.map(|sandbox| sandbox.inner.clone());
            DockerBackend::new(DockerOptions { sandbox, guest, notices, ..options }, progress)
        });
        Ok(match made {
            Ok(inner) => NativeDockerMade { docker: Some(Self { inner: Arc::new(inner) }), error: None },
            Err(error) => NativeDockerMade { docker: None, error: Some(error.into()) },
        })
    }

    /// How many containers run on the engine of `options_json` (`DockerBackendOptions`) and how many of these it holds; nothing is made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn room<'env>(env: &'env Env, options_json: String) -> napi::Result<PromiseRaw<'env, NativeOutcome>> {
        let options = parse::<DockerOptions>(&options_json);
        env.spawn_future(async move {
            let room = match options {
                Ok(options) => engine_room(&options).await.map(|room| json!(room)),
                Err(error) => Err(error),
            };
            Ok(value(room))
        })
    }

    /// The same container as a backend.
    #[napi(catch_unwind)]
    pub fn backend(&self) -> NativeBackend {
        NativeBackend { inner: Arc::clone(&self.inner) as _ }
    }

    /// `start`, `stop`, `purge` (also where it has a name), `alive`, `id` or `usage`; but for the first, without starting it.
    /// What was begun goes on when the caller gives up.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn invoke<'env>(
        &self,
        env: &'env Env,
        method: String,
        cancel: Option<&NativeCancel>,
    ) -> napi::Result<PromiseRaw<'env, NativeOutcome>> {
        let docker = Arc::clone(&self.inner);
        let deadline = Deadline { cancel: token_of(cancel), at: None };
        env.spawn_future(async move {
            Ok(tokio::select! {
                biased;
                outcome = invoke(&docker, &method) => outcome,
                error = deadline.reached() => value(Err(error)),
            })
        })
    }

    /// Stops it unless a call runs or has run within so many milliseconds; `value` says whether it did.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn stop_if_idle<'env>(&self, env: &'env Env, most_ms: f64) -> napi::Result<PromiseRaw<'env, NativeOutcome>> {
        let docker = Arc::clone(&self.inner);
        let most = Duration::try_from_secs_f64(most_ms / 1_000.0).unwrap_or(Duration::MAX);
        env.spawn_future(async move { Ok(value(docker.stop_if_idle(most).await.map(Value::from))) })
    }

    /// Counts as a call.
    #[napi(catch_unwind)]
    pub fn touch(&self) {
        self.inner.touch();
    }

    /// Milliseconds since the last call ended, and parts of them: 0 only while one runs.
    #[napi(catch_unwind)]
    pub fn idle_ms(&self) -> f64 {
        self.inner.idle().as_secs_f64() * 1_000.0
    }
}

async fn invoke(docker: &DockerBackend, method: &str) -> NativeOutcome {
    match method {
        "start" => docker.start().await.into(),
        "stop" => docker.stop(false).await.into(),
        "purge" => docker.stop(true).await.into(),
        "alive" => value(docker.health().await.map(|health| health.alive.into())),
        "id" => value(Ok(json!(docker.container_id().await))),
        "usage" => value(docker.usage().await.map(|usage| json!(usage))),
        _ => value(Err(Error::internal("There is no such method."))),
    }
}

/// A runtime as it was understood, with its Dockerfile and tag where it has a base image.
#[napi(catch_unwind)]
pub fn define_runtime(runtime_json: String) -> NativeOutcome {
    value(parse::<Runtime>(&runtime_json).and_then(|runtime| described(&runtime)))
}

/// The runtime of a name, or all of them.
#[napi(catch_unwind)]
pub fn builtin_runtimes_json(name: Option<String>) -> NativeOutcome {
    value(match name {
        Some(name) => builtin_runtime(&name).map(|runtime| json!(runtime)),
        None => Ok(json!(builtin_runtimes())),
    })
}

fn described(runtime: &Runtime) -> Result<Value> {
    runtime.check()?;
    let (dockerfile, tag) = match runtime.image {
        None => (Some(dockerfile(runtime)?), Some(image_tag(runtime)?)),
        Some(_) => (None, None),
    };
    Ok(json!({ "runtime": runtime, "dockerfile": dockerfile, "tag": tag }))
}

fn value(result: Result<Value>) -> NativeOutcome {
    result.map(|value| gloveport_core::wire::Reply { value: Some(value), ..Default::default() }).into()
}

fn progress(function: Function<'_, String, ()>) -> napi::Result<BuildProgress> {
    let call: ThreadsafeFunction<String, (), String, Status, false, true, PROGRESS_QUEUE> = function
        .build_threadsafe_function()
        .weak::<true>()
        .callee_handled::<false>()
        .max_queue_size::<PROGRESS_QUEUE>()
        .build()?;
    Ok(Arc::new(move |text: &str| {
        call.call(text.to_owned(), ThreadsafeFunctionCallMode::NonBlocking);
    }))
}
