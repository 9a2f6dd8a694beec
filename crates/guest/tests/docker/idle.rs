//! What is use of a container: every operation, of files as well as of commands (D30: only commands counted, and who worked by files
//! alone seemed idle).

use std::sync::Arc;
use std::time::{Duration, Instant};

use gloveport_core::access::Operation;
use gloveport_core::backend::docker::{DockerBackend, DockerOptions, GuestProgram};
use gloveport_core::backend::process::TerminalSize;
use gloveport_core::backend::{
    Backend, BoxFuture, Call, CommandLimits, ExecuteRequest, Missing, TerminalRequest, Window, stream,
};
use gloveport_core::cancel::Deadline;
use gloveport_core::error::Result;
use gloveport_core::path::VirtualPath;
use gloveport_core::sandbox::{Mount, Sandbox};
use gloveport_core::search::{FindQuery, GlobQuery, GrepQuery, OutlineQuery};

use crate::engine;

/// 20 ms without any use, before each: an operation that counted for nothing would leave that long an idleness behind.
const STILL: Duration = Duration::from_millis(20);
/// A machine that does much else may look that much later than an operation ended, but not five times.
const LOOKS: u32 = 5;

type Operate = for<'a> fn(&'a Arc<DockerBackend>, &'a Call) -> BoxFuture<'a, Result<()>>;

fn at(path: &str) -> VirtualPath {
    VirtualPath::absolute(path).unwrap()
}

fn text(text: &str) -> Box<dyn FnOnce(Option<gloveport_core::backend::FileContent>) -> Result<Vec<u8>> + Send> {
    let text = text.as_bytes().to_vec();
    Box::new(move |_| Ok(text))
}

const FILES: &[(&str, Operate)] = &[
    ("write", |backend, call| {
        Box::pin(async move {
            let writer = backend.writer().unwrap();
            writer.update(&at("/workspace/a"), Operation::Write, Missing::Create, text("text\n"), call).await.map(drop)
        })
    }),
    ("edit", |backend, call| {
        Box::pin(async move {
            let writer = backend.writer().unwrap();
            writer.update(&at("/workspace/a"), Operation::Edit, Missing::Refuse, text("more\n"), call).await.map(drop)
        })
    }),
    ("append", |backend, call| {
        Box::pin(
            async move { backend.writer().unwrap().append(&at("/workspace/a"), b"x".to_vec(), call).await.map(drop) },
        )
    }),
    ("make a directory", |backend, call| {
        Box::pin(async move { backend.writer().unwrap().make_directory(&at("/workspace/d"), call).await.map(drop) })
    }),
    ("copy", |backend, call| {
        Box::pin(async move {
            backend.writer().unwrap().copy(&at("/workspace/a"), &at("/workspace/d/b"), call).await.map(drop)
        })
    }),
    ("rename", |backend, call| {
        Box::pin(
            async move { backend.writer().unwrap().rename(&at("/workspace/d/b"), &at("/workspace/d/c"), call).await },
        )
    }),
    ("remove", |backend, call| {
        Box::pin(async move { backend.writer().unwrap().remove(&at("/workspace/d"), true, call).await.map(drop) })
    }),
    ("write in pieces", |backend, call| {
        Box::pin(async move {
            let anybodys = Arc::clone(backend) as Arc<dyn Backend>;
            let mut writer = stream::open_writer(anybodys, at("/workspace/p"), call).await?;
            assert_eq!(backend.idle(), Duration::ZERO);
            writer.write(b"piece".to_vec(), call).await?;
            writer.finish(call).await.map(drop)
        })
    }),
    ("resolve", |backend, call| {
        Box::pin(async move { backend.files().resolve(&at("/workspace/a"), call).await.map(drop) })
    }),
    ("stat", |backend, call| Box::pin(async move { backend.files().stat(&at("/workspace/a"), call).await.map(drop) })),
    ("list", |backend, call| Box::pin(async move { backend.files().list(&at("/workspace"), 2, call).await.map(drop) })),
    ("read", |backend, call| {
        Box::pin(async move {
            let window = Window { offset: 0, limit: 9, max_bytes: 99 };
            backend.files().read(&at("/workspace/a"), window, call).await.map(drop)
        })
    }),
    ("read bytes", |backend, call| {
        Box::pin(async move { backend.files().read_bytes(&at("/workspace/a"), 99, call).await.map(drop) })
    }),
    ("read in pieces", |backend, call| {
        Box::pin(async move {
            let mut reader = backend.files().open_reader(&at("/workspace/a"), call).await?;
            reader.read(0, 9, call).await.map(drop)
        })
    }),
    ("glob", |backend, call| {
        Box::pin(async move { backend.files().glob(&GlobQuery::new("**", at("/workspace")), call).await.map(drop) })
    }),
    ("grep", |backend, call| {
        Box::pin(async move { backend.files().grep(&GrepQuery::new("x", at("/workspace")), call).await.map(drop) })
    }),
    ("find", |backend, call| {
        Box::pin(async move { backend.files().find(&FindQuery::new("a", at("/workspace")), call).await.map(drop) })
    }),
    ("outline", |backend, call| {
        Box::pin(async move {
            let query = OutlineQuery { path: at("/workspace"), depth: 1, respect_ignore: true, counts: true };
            backend.files().outline(&query, call).await.map(drop)
        })
    }),
    ("read what is missing", |backend, call| {
        Box::pin(async move {
            backend.files().read_bytes(&at("/workspace/missing"), 99, call).await.unwrap_err();
            Ok(())
        })
    }),
    ("execute", |backend, call| {
        Box::pin(async move { backend.shell().unwrap().execute(ExecuteRequest::new("true"), call).await.map(drop) })
    }),
];

/// Those that need our program inside.
const BESIDE: &[(&str, Operate)] = &[
    ("a command in the background", |backend, call| {
        Box::pin(async move {
            let process = backend.shell().unwrap().start(ExecuteRequest::new("read line"), call).await?;
            assert_eq!(backend.idle(), Duration::ZERO);
            process.close_input(&Deadline::default()).await?;
            process.over().await;
            Ok(())
        })
    }),
    ("a terminal", |backend, call| {
        Box::pin(async move {
            let request = TerminalRequest {
                command: Some("read line".to_owned()),
                working_directory: None,
                environment: Vec::new(),
                size: TerminalSize::new(80, 24).unwrap(),
                limits: CommandLimits::default(),
                tap: None,
            };
            let process = backend.shell().unwrap().open_terminal(request, call).await?;
            assert_eq!(backend.idle(), Duration::ZERO);
            process.write(b"\n", &call.deadline).await?;
            process.over().await;
            Ok(())
        })
    }),
];

/// Whether idleness begins anew with the end of each.
async fn each_is_use(name: &str, backend: &Arc<DockerBackend>, operations: &[(&str, Operate)]) {
    let call = Call::default();
    for (operation, operate) in operations {
        let mut is_use = false;
        for look in 0..LOOKS {
            let waiting = Instant::now();
            while backend.idle() < STILL {
                assert!(waiting.elapsed().as_secs() < 60, "{name}: it is never idle before: {operation}");
                tokio::task::yield_now().await;
            }
            let begun = Instant::now();
            let done = operate(backend, &call).await;
            let passed = begun.elapsed();
            // Of what counted from its beginning alone all of it would have been idle by now.
            is_use = backend.idle() < passed / 2;
            if look == 0 {
                done.unwrap_or_else(|error| panic!("{name}: {operation}: {error}"));
            }
            if is_use {
                break;
            }
        }
        assert!(is_use, "{name}: {operation} is no use of the container");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_use_of_the_container() {
    let options = engine().options();
    let backend = Arc::new(DockerBackend::new(options.clone(), None).unwrap());
    backend.start().await.unwrap();
    each_is_use("inside", &backend, FILES).await;
    each_is_use("inside", &backend, BESIDE).await;
    backend.close().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(vec![Mount::new(folder.path(), "/workspace").read_write()], folder.path()).unwrap();
    let mounted = DockerOptions { sandbox: Some(sandbox), ..options.clone() };
    let backend = Arc::new(DockerBackend::new(mounted, None).unwrap());
    backend.start().await.unwrap();
    each_is_use("on mounts", &backend, FILES).await;
    backend.close().await.unwrap();
    let by_shell = DockerOptions { guest: GuestProgram::default(), ..options };
    let backend = Arc::new(DockerBackend::new(by_shell, None).unwrap());
    backend.start().await.unwrap();
    each_is_use("by shell", &backend, FILES).await;
    backend.close().await.unwrap();
}
