//! What a tool holds while it runs: the backend behind a [`View`], never a host path and never the rules.

use std::sync::Arc;

use crate::access::Operation;
use crate::backend::{
    Backend, Call, FileContent, FileSystem, FileVersion, Missing, OutputSink, Shell, Spill, Transform, Updated,
    WritableFileSystem,
};
use crate::call_info::CallInfo;
use crate::change::Bounds;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::media::Gate;
use crate::memory::ReadMemory;
use crate::path::VirtualPath;
use crate::scratch::Scratch;
use crate::session::{Helper, Opening, Sessions, Starter};

/// The state of a file that a request showed; `None` when there was none.
pub type Binding = (VirtualPath, Option<FileVersion>);

/// How the application wants its tools to behave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSettings {
    /// Whether searches skip hidden names unless the model asks for them.
    pub ignore_hidden: bool,
    /// Bytes of the largest image that becomes a part; `None` when images and documents are refused as binary.
    pub image_bytes: Option<u64>,
    /// Whether files are read with hashline tags.
    pub hashline: bool,
}

/// The place and the call that a tool works in.
pub struct View<'a> {
    /// Where the files are.
    pub backend: &'a dyn Backend,
    /// Deadline and guard of the call.
    pub call: &'a Call,
    /// Bounds.
    pub limits: &'a Limits,
    /// The application's wishes.
    pub settings: &'a ToolSettings,
    /// What this toolset showed before.
    pub memory: &'a Arc<ReadMemory>,
    /// Where images are decoded.
    pub media: &'a Gate,
    /// The states of files that an approval showed; empty when nobody was asked.
    pub bindings: &'a [Binding],
    /// Takes output of a command as it comes.
    pub on_output: Option<OutputSink>,
    /// Whether there is a tool that reads what runs in the background.
    pub reads_background: bool,
    /// What runs beside the calls.
    pub sessions: &'a Sessions,
    /// Where whole outputs go.
    pub scratch: &'a Scratch,
    /// What the application is told about the call.
    pub info: CallInfo<'a>,
    /// What the application says of a session that this call opens.
    pub opening: Option<&'a Opening>,
    /// Who may be asked for help.
    pub help: &'a dyn Helper,
}

impl<'a> View<'a> {
    /// A path as a model gave it; relative ones are relative to the backend's working directory.
    pub fn path(&self, input: &str) -> Result<VirtualPath> {
        VirtualPath::parse(input, self.files().working_directory())
    }

    /// The files, for reading.
    pub fn files(&self) -> &'a dyn FileSystem {
        self.backend.files()
    }

    /// The files, for writing.
    pub fn writer(&self) -> Result<&'a dyn WritableFileSystem> {
        self.backend.writer().ok_or_else(|| {
            Error::new(ErrorKind::PathNotWritable, "Nothing can be written here: the files are read-only.")
        })
    }

    /// Runs commands.
    pub fn shell(&self) -> Result<&'a dyn Shell> {
        self.backend
            .shell()
            .ok_or_else(|| Error::new(ErrorKind::Unsupported, self.backend.no_shell_reason().to_owned()))
    }

    /// What makes a file for output that is too long to be told.
    pub fn spill(&self) -> Spill {
        self.scratch.spill()
    }

    /// Who starts a session in this call.
    pub fn starter(&self, tool: &'static str) -> Starter<'a> {
        Starter { call_id: self.info.id, tool }
    }

    /// What bounds an edit in this call.
    pub fn bounds(&self) -> Bounds {
        Bounds { max_bytes: self.limits.file_bytes, deadline: self.call.deadline.clone() }
    }

    /// Replaces a file's content under its lock. Refuses with `StaleFile` when an approval showed another state of it.
    pub async fn update(
        &self,
        path: &VirtualPath,
        operation: Operation,
        missing: Missing,
        transform: Transform,
    ) -> Result<Updated> {
        let bound = self.bindings.iter().find(|(name, _)| name == path).map(|(_, version)| *version);
        let shown = path.clone();
        let checked: Transform = Box::new(move |current: Option<FileContent>| {
            if let Some(approved) = bound
                && approved != current.as_ref().map(|content| content.version)
            {
                return Err(changed_since_approval(&shown));
            }
            transform(current)
        });
        self.writer()?.update(path, operation, missing, checked, self.call).await
    }

    /// Looks at `path` again and refuses with `StaleFile` when an approval showed another state of it. For operations
    /// that do not read the file anyway; without an approval it costs nothing.
    pub async fn check_unchanged(&self, path: &VirtualPath) -> Result<()> {
        if self.bindings.iter().all(|(name, _)| name != path) {
            return Ok(());
        }
        let resolution = self.files().resolve(path, self.call).await?;
        self.check_binding(path, resolution.version)
    }

    /// Refuses with `StaleFile` when an approval showed another state of `path` than `version`.
    pub fn check_binding(&self, path: &VirtualPath, version: Option<FileVersion>) -> Result<()> {
        match self.bindings.iter().find(|(name, _)| name == path) {
            Some((_, approved)) if *approved != version => Err(changed_since_approval(path)),
            Some(_) | None => Ok(()),
        }
    }
}

fn changed_since_approval(path: &VirtualPath) -> Error {
    Error::new(
        ErrorKind::StaleFile,
        format!("'{path}' changed after the approval was asked for, so the call was not run. Read it again and repeat the call."),
    )
    .with_path(path.as_str())
}
