//! What is put into a file, as whoever is asked about it sees it: the diff, and what a yes to it is remembered by.

use std::hash::BuildHasher;
use std::sync::Arc;

use serde_json::json;

use super::{GuardedBackend, input_of};
use crate::access::Unguarded;
use crate::backend::{Call, FileContent, Missing, Transform};
use crate::call_info::CallInfo;
use crate::edit::diff;
use crate::error::{Error, ErrorKind, Result};
use crate::lent;
use crate::limits::Limits;
use crate::path::VirtualPath;
use crate::toolset::plan::Plan;

/// The content that a method brings along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mark {
    /// None.
    #[default]
    Nothing,
    /// By two hashes with keys of this backend.
    Content([u64; 2]),
    /// Known only later: a yes holds once.
    Unknown,
}

/// What is shown besides the paths.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) diff: Option<String>,
    pub(super) mark: Mark,
}

impl Shown {
    /// What is not known before it comes.
    pub(super) fn unknown() -> Self {
        Self { diff: None, mark: Mark::Unknown }
    }

    /// What a yes is remembered by.
    pub(super) fn key(&self, info: CallInfo<'_>, plan: &Plan) -> String {
        let input = input_of(plan);
        plan.key(
            info.tool,
            &match self.mark {
                Mark::Content(mark) => json!([input, mark]),
                Mark::Nothing | Mark::Unknown => input,
            },
        )
    }

    /// Goes on with what is there `now`, unless a diff was made of what was there before.
    pub(super) fn follow(&self, plan: &mut Plan, now: Plan) -> Result<()> {
        if self.diff.is_some() && now.bindings != plan.bindings {
            return Err(changed());
        }
        *plan = now;
        Ok(())
    }
}

impl GuardedBackend {
    fn mark(&self, bytes: &[u8]) -> [u64; 2] {
        [self.marks[0].hash_one(bytes), self.marks[1].hash_one(bytes)]
    }

    /// What is in a file before it is changed.
    async fn before(&self, path: &VirtualPath, missing: Missing, call: &Call) -> Result<Before> {
        // Whoever is asked sees it, and not the caller.
        let looking = Call { deadline: call.deadline.clone(), guard: Arc::new(Unguarded) };
        match self.inner.files().read_bytes(path, Limits::default().file_bytes, &looking).await {
            Ok(content) => Ok(Before::Content(content)),
            Err(error) => match (error.kind(), missing) {
                (ErrorKind::FileNotFound, Missing::Create) => Ok(Before::Nothing),
                (ErrorKind::FileTooLarge | ErrorKind::Unsupported, _) => Ok(Before::Unseen),
                _ => Err(error),
            },
        }
    }

    /// What a transform makes of a file, and one that does the same where the file is still what it was.
    pub(super) async fn preview(
        &self,
        path: &VirtualPath,
        missing: Missing,
        transform: Transform,
        call: &Call,
    ) -> Result<(Shown, Transform)> {
        let current = match self.before(path, missing, call).await? {
            Before::Unseen => return Ok((Shown::unknown(), transform)),
            Before::Nothing => None,
            Before::Content(content) => Some(content),
        };
        // A person is about to be asked: no reason to hurry on a lent thread.
        lent::give_back(|| true).await;
        let old = current.as_ref().map(|current| current.bytes.clone());
        let new = transform(current)?;
        let shown = Shown {
            diff: Some(diff::between(old.as_deref(), &new, path.as_str())),
            mark: Mark::Content(self.mark(&new)),
        };
        let before = old.map(|old| self.mark(&old));
        let marks = self.marks.clone();
        let held: Transform = Box::new(move |current: Option<FileContent>| {
            let there = current.map(|current| marks.each_ref().map(|mark| mark.hash_one(current.bytes.as_slice())));
            if there == before { Ok(new) } else { Err(changed()) }
        });
        Ok((shown, held))
    }

    /// What bytes at its end make of a file.
    pub(super) async fn preview_append(&self, path: &VirtualPath, content: &[u8], call: &Call) -> Result<Shown> {
        let mark = Mark::Content(self.mark(content));
        let old = match self.before(path, Missing::Create, call).await? {
            Before::Unseen => return Ok(Shown { diff: None, mark }),
            Before::Nothing => None,
            Before::Content(content) => Some(content.bytes),
        };
        lent::give_back(|| true).await;
        let new = [old.as_deref().unwrap_or_default(), content].concat();
        Ok(Shown { diff: Some(diff::between(old.as_deref(), &new, path.as_str())), mark })
    }
}

/// A file that is about to be changed.
enum Before {
    Nothing,
    Content(FileContent),
    /// Too large to be shown, or the backend cannot read it.
    Unseen,
}

fn changed() -> Error {
    Error::new(ErrorKind::StaleFile, "The file changed since it was shown for approval; try again.")
}
