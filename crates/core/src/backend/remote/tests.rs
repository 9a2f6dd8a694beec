use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::peer::FILE_TIMEOUT;
use super::{Answer, Peer, Place, Question, Questions};
use crate::backend::BoxFuture;
use crate::cancel::Deadline;
use crate::error::{ErrorKind, Result};
use crate::path::VirtualPath;

/// An application that answers nothing; what it was asked, and what was withdrawn.
#[derive(Default)]
struct Silent {
    asked: Mutex<Vec<(u64, &'static str)>>,
    withdrawn: Mutex<Vec<u64>>,
}

impl Questions for Silent {
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Answer>> {
        self.asked.lock().push((question.id, question.method));
        Box::pin(std::future::pending())
    }

    fn withdraw(&self, id: u64) {
        self.withdrawn.lock().push(id);
    }
}

async fn ask(peer: &Peer, method: &str) -> Result<()> {
    let (path, other) = (VirtualPath::absolute("/d/a").unwrap(), VirtualPath::absolute("/d/b").unwrap());
    let deadline = Deadline::default();
    match method {
        "stat" => peer.stat(&path, &deadline).await.map(drop),
        "ls" => peer.list(&path, &deadline).await.map(drop),
        "readBytes" | "read" => peer.read(&path, 0, 9, &deadline).await.map(drop),
        "write" => peer.write(&path, Vec::new(), None, &deadline).await,
        "append" => peer.append(&path, Vec::new(), &deadline).await,
        "mkdir" => peer.make_directory(&path, &deadline).await,
        "remove" => peer.remove(&path, true, &deadline).await,
        "move" => peer.rename(&path, &other, &deadline).await,
        "copy" => peer.copy(&path, &other, &deadline).await,
        method => panic!("{method} is no method for files"),
    }
}

/// BE-64: where the caller set no limit either.
#[test]
fn a_question_about_files_that_nobody_answers_ends_by_itself_and_is_withdrawn() {
    for method in ["stat", "ls", "readBytes", "read", "write", "append", "mkdir", "remove", "move", "copy"] {
        // Each with a clock of its own that moves when nothing else does.
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let silent = Arc::new(Silent::default());
            let peer = Peer::new(silent.clone(), vec![method.to_owned()]);
            let begun = Instant::now();
            let error = ask(&peer, method).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Timeout, "{method}");
            assert!(begun.elapsed() >= FILE_TIMEOUT, "{method}: {:?}", begun.elapsed());
            let asked = silent.asked.lock().clone();
            assert_eq!(asked.iter().map(|(_, name)| *name).collect::<Vec<_>>(), [method]);
            assert_eq!(*silent.withdrawn.lock(), [asked[0].0], "{method}");
        });
    }
}
