//! How a container comes to run: found by its name, or made; with the guest in it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::calls::{Status, exec, inspect, of, remove, start, status_of, text, unpause};
use super::client::{Engine, Failure, Output, Path, Payload, travel};
use super::container::{Container, Hold, Running};
use super::engine::{self, refused};
use super::guest::{GUEST_DIRECTORY, GUEST_PROGRAM, RECEIVE, archive, program_only};
use super::handed_out;
use super::image;
use super::locks;
use super::names;
use super::options::DockerOptions;
use super::owner;
use super::settling::settled;
use super::spec::{self, First};
use super::walls::{self, Walls};
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::sandbox::Sandbox;

/// 60 s for the guest to settle in a container through a command, besides its way there.
const SEND: Duration = Duration::from_secs(60);
/// 50 times more, in 5 s, an engine is asked that must be done with the end of a container that is started anew.
const ATTACHES: usize = 50;
/// What Podman says of a container that does not have the state that is needed.
const OTHER_STATE: &str = "container state improper";
/// Says whether a guest is in a container of ours (`none` where not).
const GUEST_LABEL: &str = "dev.gloveport.guest";
/// What follows where no guest can be.
const BY_SHELL: &str = "Its files and commands go through its shell: slower, and without background commands, \
                        terminals and other ceilings for commands than on files.";
/// 12 characters of a container's number name it: so many of them the engine's own client shows.
const ID_CHARS: usize = 12;
/// 4 KiB of what a command says of where it put the guest.
const SAID_BYTES: usize = 4 << 10;

impl Container {
    /// A container that runs: the one that was named, or a new one.
    pub(super) async fn bring_up(&self) -> Result<(Running, Unfinished)> {
        let options = &self.0.options;
        let engine = engine::connect(options.host.as_deref()).await?;
        if options.sandbox.is_some() && engine.is_far() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "The engine is on another machine, whose directories are not these: mounts work with an engine of this machine. \
                 Leave `sandbox` out, and files are the container's own.",
            ));
        }
        let info = match &options.sandbox {
            Some(sandbox) => {
                let info = describe(&engine, "/info").await?;
                check_kept(sandbox, &info)?;
                info
            }
            None => Value::Null,
        };
        owner::sweep_once(&engine);
        if let Some(name) = &options.container {
            check_container_name(name)?;
            // Two that find the same one still would both put the guest into it, the second while it runs (R-DK-4).
            let _alone = locks::alone(&engine, name).await;
            match inspect(&engine, name).await? {
                Some(found) if is_called(&found, name) => {
                    let id = text(&found, "Id").unwrap_or_default().to_owned();
                    let _alone = if id == *name { None } else { Some(locks::alone(&engine, &id).await) };
                    let found = inspect(&engine, &id).await?.unwrap_or(found);
                    return Ok((self.attach(engine, found).await?, Unfinished::nothing()));
                }
                Some(_) => {
                    return Err(Error::invalid(format!(
                        "'{}' is the beginning of another container's number; take another name, or at least {ID_CHARS} \
                         characters of the number.",
                        Shown(name)
                    )));
                }
                None if options.image.is_none() && options.runtime.is_none() => {
                    return Err(Error::new(
                        ErrorKind::BackendUnavailable,
                        format!("Container '{}' not found. Give an image as well to have it made.", Shown(name)),
                    ));
                }
                None => {}
            }
            return self.create(engine, &info).await;
        }
        self.create(engine, &info).await
    }

    /// A container that somebody made: us in another life, or the author.
    async fn attach(&self, engine: Engine, found: Value) -> Result<Running> {
        let id = text(&found, "Id").unwrap_or_default().to_owned();
        let ours = owner::is_ours(&engine, &found).await?;
        if let Some(sandbox) = &self.0.options.sandbox {
            let mounts = found.pointer("/HostConfig/Mounts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            if !spec::are_mounts_of(mounts, sandbox, self.0.options.host.as_deref())? {
                return Err(Error::invalid(
                    "The container exists with other mounts than these, and an existing one cannot be given any; leave `sandbox` \
                     out, or take another name.",
                ));
            }
        }
        let made_with = if ours { text_at(&found, walls::LABEL) } else { None };
        Walls::of(&self.0.options).check(made_with)?;
        let hold = match status_of(&found) {
            Status::Running => None,
            Status::Paused => {
                unpause(&engine, &id).await?;
                None
            }
            Status::Still if ours => {
                // Nothing runs in it: the guest of this version replaces the one that was there, unless nothing can be written.
                if !self.0.options.read_only_root
                    && let Some(program) = self.optional(self.program(&engine).await)?
                {
                    let owned = self.owned_work_dir(&engine, &id, &found).await;
                    self.upload(&engine, &id, &program, owned).await?;
                }
                self.run(&engine, &id).await?
            }
            Status::Still => {
                start(&engine, &id).await?;
                None
            }
        };
        let program = match text_at(&found, GUEST_LABEL) {
            _ if !ours => self.optional(self.send(&engine, &id).await)?,
            Some("none") => None,
            _ => Some(GUEST_PROGRAM.to_owned()),
        };
        Ok(Running::new(engine, id, ours, program, hold))
    }

    /// `info` is what the engine says of itself, where there are mounts.
    async fn create(&self, engine: Engine, info: &Value) -> Result<(Running, Unfinished)> {
        let options = &self.0.options;
        let progress = self.0.progress.as_ref();
        let Some(image) = image::image(&engine, options, progress).await? else {
            return Err(Error::invalid("A container needs an `image` or a `runtime`, or the name of one that exists."));
        };
        let remove = options.container.is_none();
        let user = self.user(info);
        let program = self.optional(self.program(&engine).await)?;
        let mut labels = owner::labels(&self.0.session, remove);
        // Said in both cases: an image that was made of a container may bring along what was so there.
        labels.insert(GUEST_LABEL.to_owned(), if program.is_some() { "serves" } else { "none" }.into());
        labels.insert(walls::LABEL.to_owned(), Walls::of(options).label().into());
        labels.extend([owner::id_label(options.session_id.as_deref())]);
        let first = if program.is_some() { First::Guest } else { First::Shell };
        let mut body = spec::container(options, &image, &self.0.work_dir, user, labels, remove, first)?;
        let name = options.container.clone().unwrap_or_else(|| owner::name_of(&self.0.session));
        let stage = match &program {
            Some(program) if options.read_only_root => Some(self.staged(&engine, &image, program).await?),
            Some(_) | None => None,
        };
        if let Some((stage, _)) = &stage {
            body["HostConfig"]["VolumesFrom"] = json!([format!("{stage}:ro")]);
        }
        let (id, unfinished) = self.make_of(&engine, &image, &name, &body, remove).await?;
        // It goes, and its volume with the container.
        drop(stage);
        if let Some(program) = program.as_ref().filter(|_| !options.read_only_root) {
            // Who runs things in it is known now: also where only its image says so.
            let found = inspect(&engine, &id).await?.unwrap_or_default();
            let owned = self.owned_work_dir(&engine, &id, &found).await;
            self.upload(&engine, &id, program, owned).await?;
        }
        let hold = self.run(&engine, &id).await?;
        let program = program.map(|_| GUEST_PROGRAM.to_owned());
        // One with a name has its files from now on, whatever becomes of the way into it.
        let unfinished = if remove { unfinished } else { unfinished.finish() };
        Ok((Running::new(engine, id, true, program, hold), unfinished))
    }

    /// Makes a container; its image is fetched where that is what is missing.
    async fn make_of(
        &self,
        engine: &Engine,
        image: &str,
        name: &str,
        body: &Value,
        nameless: bool,
    ) -> Result<(String, Unfinished)> {
        let mut made = make(engine, name, body, nameless).await;
        if made.as_ref().is_err_and(Failure::is_missing) {
            image::fetch(engine, image, &self.0.options, self.0.progress.as_ref()).await?;
            made = make(engine, name, body, nameless).await;
        }
        made.map_err(|failure| match (&failure, self.0.options.disk) {
            (Failure::Refused { message, .. }, Some(_)) if message.contains("torage") => Error::new(
                ErrorKind::Unsupported,
                "The container engine's storage cannot hold a container to a size (`overlay2` can on XFS with project quotas, `btrfs` and \
                 `zfs` can). Leave `disk` out.",
            )
            .with_details(json!({ "message": message })),
            _ => refused("make a container", &failure),
        })
    }

    /// The guest in a volume, for a container whose root cannot be written: the engine puts it there through a container that is never
    /// started, and which goes when this is dropped.
    async fn staged(&self, engine: &Engine, image: &str, program: &[u8]) -> Result<(String, Unfinished)> {
        let body = json!({
            "Image": image,
            "Entrypoint": [GUEST_PROGRAM],
            "Labels": owner::labels(&self.0.session, true),
            "Volumes": { GUEST_DIRECTORY: {} },
            "HostConfig": { "NetworkMode": "none" },
        });
        let name = owner::stage_of(&self.0.session);
        let (id, unfinished) = self.make_of(engine, image, &name, &body, true).await?;
        put(engine, &id, GUEST_DIRECTORY, &program_only(program)).await?;
        Ok((id, unfinished))
    }

    /// Who runs things inside. On mounts that can be written it is this process's user: a root without capabilities
    /// writes nobody else's files, and what it made could not be used from outside. Of root it is whoever owns the mounts: nothing
    /// is root's in there that need not be.
    fn user(&self, info: &Value) -> Option<String> {
        let options = &self.0.options;
        let said = said_user(options);
        #[cfg(unix)]
        if said.is_none()
            && let Some(sandbox) = options.sandbox.as_ref().filter(|sandbox| !sandbox.writable_roots().is_empty())
        {
            let security = info.get("SecurityOptions").and_then(Value::as_array).into_iter().flatten();
            // Without root outside, root inside is the engine's user already.
            if !security.filter_map(Value::as_str).any(|option| option.contains("rootless")) {
                let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
                let outside = if user.is_root() { owner_of(sandbox) } else { Some((user.as_raw(), group.as_raw())) };
                return outside.map(|(user, group)| format!("{user}:{group}"));
            }
        }
        let _ = info;
        said
    }

    /// Puts the guest into a container in which nothing runs.
    async fn upload(&self, engine: &Engine, id: &str, program: &[u8], owned: Option<(String, u32, u32)>) -> Result<()> {
        let directories: Vec<_> = owned.iter().map(|(path, user, group)| (path.as_str(), *user, *group)).collect();
        put(engine, id, "/", &archive(program, &directories)).await
    }

    /// The working directory, for a user that could not make it; not where a mount will be.
    async fn owned_work_dir(&self, engine: &Engine, id: &str, found: &Value) -> Option<(String, u32, u32)> {
        let options = &self.0.options;
        let path = self.0.work_dir.as_str();
        if options.sandbox.is_some() || path.len() > 99 || self.0.work_dir.is_root() {
            return None;
        }
        // A user of the image may have a directory of its own that was named; it stays as it is.
        if options.user.is_none() && options.work_dir.is_some() {
            return None;
        }
        let user = found.pointer("/Config/User").and_then(Value::as_str).filter(|user| !user.is_empty())?;
        let (user, group) = names::numbers(engine, id, user).await?;
        // Of root it is anyway.
        (user != 0).then(|| (path.to_owned(), user, group))
    }

    /// What is there where it can be. Without it the container is served through its shell, which is never silent: somebody
    /// would look for slowness, and for the tools that are missing, in the wrong place.
    fn optional<T>(&self, made: Result<T>) -> Result<Option<T>> {
        match made {
            Ok(made) => Ok(Some(made)),
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                self.0.options.notices.say(&format!("{} {BY_SHELL}", error.message()));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    async fn program(&self, engine: &Engine) -> Result<Vec<u8>> {
        let version = describe(engine, "/version").await?;
        self.0.options.guest.load(text(&version, "Arch").unwrap_or_default()).await
    }

    /// Starts a container of ours and holds it: its first process ends with the connection that is made here. Nothing
    /// where somebody else was faster, who holds it then.
    async fn run(&self, engine: &Engine, id: &str) -> Result<Option<Hold>> {
        let path = of(id).then("attach").with("stream", "1").with("stdin", "1").with("stdout", "1");
        // Podman makes it ready to be attached to, and what still cleans up behind its last end takes that back.
        let cleans_up =
            |failure: &Failure| matches!(failure, Failure::Refused { message, .. } if message.contains(OTHER_STATE));
        let attached = settled(ATTACHES, cleans_up, || engine.attach(&path, Payload::Nothing)).await;
        let (output, input) = attached.map_err(|failure| refused("attach to a container", &failure))?;
        let began = start(engine, id).await?;
        Ok(began.then_some(Hold { input, output }))
    }

    /// Sends the guest into a container that is not ours through a command, and says where it lies. The archive endpoint
    /// is not for a container in which something runs (R-DK-4).
    pub(super) async fn send(&self, engine: &Engine, id: &str) -> Result<String> {
        let program = self.program(engine).await?;
        // A name of its own each time: the one before may just be removing its file.
        static SENT: AtomicU64 = AtomicU64::new(0);
        let name = format!("{}-{}", self.0.session, SENT.fetch_add(1, Ordering::Relaxed));
        let command = ["sh", "-c", RECEIVE, "sh", &name];
        let (mut output, mut input) = exec(engine, id, &command, self.0.options.user.as_deref()).await?;
        let failed = || {
            Error::new(
                ErrorKind::Unsupported,
                "The container takes no program: it has no shell, or no directory in which a program may be run.",
            )
        };
        let sent = async {
            let path = line(&mut output).await?;
            let fed = async {
                // A command that ends early closes its input; what it says then says why.
                let _ = input.write_all(&program).await;
                let _ = input.shutdown().await;
                std::future::pending().await
            };
            let ended = tokio::select! {
                ended = line(&mut output) => ended,
                () = fed => None,
            };
            (ended? == "ok" && path.starts_with('/')).then_some(path)
        };
        timeout(SEND + travel(program.len()), sent).await.ok().flatten().ok_or_else(failed)
    }
}

/// Refuses mounts of what the engine keeps of all containers, wherever that is.
fn check_kept(sandbox: &Sandbox, info: &Value) -> Result<()> {
    let Some(kept) = text(info, "DockerRootDir").map(std::path::Path::new).filter(|kept| kept.parent().is_some())
    else {
        return Ok(());
    };
    let mut mounts = sandbox.table().mounts().iter().zip(sandbox.hosts());
    mounts.try_for_each(|(entry, host)| handed_out::check_kept(host, &entry.mount_point, kept))
}

/// The user that the options name; a runtime's is one of them, whether its image is built or not.
fn said_user(options: &DockerOptions) -> Option<String> {
    let of_runtime = options.runtime.as_ref().and_then(|runtime| runtime.run_as_uid);
    options.user.clone().or_else(|| of_runtime.map(|uid| format!("{uid}:{uid}")))
}

/// The one user who owns all mounts that can be written, if that is not root.
#[cfg(unix)]
fn owner_of(sandbox: &Sandbox) -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    let table = sandbox.table();
    let mounts = table.mounts().iter().zip(sandbox.hosts());
    let mut writable = mounts.filter(|(entry, _)| table.can_write(&entry.mount_point)).map(|(_, host)| {
        let facts = std::fs::metadata(host).ok()?;
        Some((facts.uid(), facts.gid()))
    });
    let first = writable.next()??;
    (first.0 != 0 && writable.all(|owner| owner.is_some_and(|owner| owner.0 == first.0))).then_some(first)
}

/// Puts an archive into a container in which nothing runs.
async fn put(engine: &Engine, id: &str, place: &str, bytes: &[u8]) -> Result<()> {
    let path = of(id).then("archive").with("path", place);
    let taken = engine.ask("PUT", &path, Payload::Archive(bytes)).await;
    taken.map(drop).map_err(|failure| refused("take the program that serves files", &failure))
}

/// Makes a container and says its number. It is asked for on a task of its own: an engine that was asked makes it, though
/// nobody waits any more, and then it must be known to be removed again. `nameless` is whether the name is ours alone.
async fn make(engine: &Engine, name: &str, body: &Value, nameless: bool) -> Result<(String, Unfinished), Failure> {
    let (engine, name, body) = (engine.clone(), name.to_owned(), body.clone());
    let asked = tokio::spawn(async move {
        let path = Path::new("/containers").then("create").with("name", &name);
        let mut made = engine.ask("POST", &path, Payload::Json(&body)).await;
        if nameless && made.as_ref().is_err_and(Failure::is_conflict) {
            // Nobody else has this name: it is one that we asked for, and whose answer was lost.
            let _ = remove(&engine, &name).await;
            // One that was given up a moment ago may still be on its way out.
            let gone = of(&name).then("wait").with("condition", "removed");
            let _ = engine.ask("POST", &gone, Payload::Nothing).await;
            made = engine.ask("POST", &path, Payload::Json(&body)).await;
        }
        match made {
            Ok(made) => {
                let id = text(&made, "Id").ok_or(Failure::Nonsense)?.to_owned();
                Ok((id.clone(), Unfinished(Some((engine, id)))))
            }
            Err(failure) => {
                if nameless && !matches!(failure, Failure::Refused { .. }) {
                    // Whether it was made is unknown.
                    drop(Unfinished(Some((engine, name))));
                }
                Err(failure)
            }
        }
    });
    asked.await.unwrap_or(Err(Failure::Nonsense))
}

/// A container that was made and is of no use yet. Dropped like this, by an error or because nobody waits any more, it goes.
pub(super) struct Unfinished(Option<(Engine, String)>);

impl Unfinished {
    /// Nothing goes.
    fn nothing() -> Self {
        Self(None)
    }

    /// It is of use now.
    pub(super) fn finish(mut self) -> Self {
        self.0 = None;
        self
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some((engine, id)) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { drop(remove(&engine, &id).await) });
        }
    }
}

/// Whether a container was meant by `name`: it bears it, or `name` is enough of its number. The engine takes every beginning
/// of a number for one.
fn is_called(found: &Value, name: &str) -> bool {
    let bears = text(found, "Name").is_some_and(|theirs| theirs.strip_prefix('/').unwrap_or(theirs) == name);
    bears || (name.len() >= ID_CHARS && text(found, "Id").is_some_and(|id| id.starts_with(name)))
}

/// One line of what a command says; `None` where it says none.
async fn line(output: &mut Output) -> Option<String> {
    let mut said = Vec::new();
    while said.len() < SAID_BYTES {
        match output.read_u8().await.ok()? {
            b'\n' => return String::from_utf8(said).ok(),
            byte => said.push(byte),
        }
    }
    None
}

fn text_at<'a>(found: &'a Value, label: &str) -> Option<&'a str> {
    found.pointer("/Config/Labels").and_then(|labels| text(labels, label))
}

pub(super) async fn describe(engine: &Engine, what: &str) -> Result<Value> {
    let said = engine.ask("GET", &Path::new(what), Payload::Nothing).await;
    said.map_err(|failure| refused("describe itself", &failure))
}

/// What names a container in an address of the engine: no path, no query.
fn check_container_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    if !first || name.len() > 128 || !name.chars().all(plain) {
        return Err(Error::invalid(format!(
            "'{}' is no name of a container: letters, digits, '_', '.' and '-' are.",
            Shown(name)
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_that_was_said_is_the_one_whoever_the_host_is() {
        for (runtime, user, expected) in [
            (r#"{ "name": "n", "baseImage": "b", "runAsUid": 1000 }"#, None, Some("1000:1000")),
            (r#"{ "name": "n", "image": "i", "runAsUid": 1000 }"#, None, Some("1000:1000")),
            (r#"{ "name": "n", "image": "i", "runAsUid": 1000 }"#, Some("7"), Some("7")),
            (r#"{ "name": "n", "baseImage": "b" }"#, None, None),
        ] {
            let options = DockerOptions {
                runtime: Some(serde_json::from_str(runtime).unwrap()),
                user: user.map(str::to_owned),
                ..DockerOptions::default()
            };
            assert_eq!(said_user(&options).as_deref(), expected, "{runtime}");
        }
    }

    #[test]
    fn a_name_is_not_the_beginning_of_somebody_elses_number() {
        let found = json!({ "Id": "beef0123456789abcdef", "Name": "/theirs" });
        for (name, called) in
            [("theirs", true), ("beef", false), ("beef0123456", false), ("beef01234567", true), ("beef0123456x", false)]
        {
            assert_eq!(is_called(&found, name), called, "{name}");
        }
    }
}
