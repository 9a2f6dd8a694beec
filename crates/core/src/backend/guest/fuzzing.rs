//! Both ends of a connection for the fuzz target `guest`, which is all that this is built for.

use std::io::{Cursor, sink};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tokio::runtime::Runtime;

use super::connection::Connection;
use super::frame::encode;
use super::message::{Setup, ToGuest, ToHost, VERSION};
use super::places::Places;
use super::remote::{Lease, Line, Link, Remote};
use super::serve::serve;
use crate::access::Operation;
use crate::backend::memory::{StateBackend, StateOptions};
use crate::backend::{BoxFuture, Call, CommandLimits, ExecuteRequest, FileSystem, Missing, Shell, WritableFileSystem};
use crate::error::Result;
use crate::limits::Limits;
use crate::path::VirtualPath;
use crate::search::{GlobQuery, GrepQuery};

/// 64 KiB on their way, as a pipe holds.
const ROOM: usize = 64 << 10;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime")
});

struct Fixed(Arc<Connection>);

impl Link for Fixed {
    fn lease<'a>(&'a self, _call: &'a Call) -> BoxFuture<'a, Result<Lease>> {
        Box::pin(async { Ok(Lease::new(Line::Guest(Arc::clone(&self.0)), None)) })
    }
}

fn setup() -> Setup {
    Setup {
        working_directory: VirtualPath::root(),
        limits: Limits::default(),
        command_limits: CommandLimits::default(),
        environment: Vec::new(),
        places: Vec::new(),
    }
}

/// Lines as frames: the first byte is the call, what follows JSON, and behind a tab content.
pub fn frames(lines: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let Some((call, said)) = line.split_first() else { continue };
        let mut parts = said.splitn(2, |byte| *byte == b'\t');
        let (json, body) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        bytes.extend(u32::try_from(12 + json.len() + body.len()).unwrap_or(0).to_le_bytes());
        bytes.extend(u64::from(call.wrapping_sub(b'0')).to_le_bytes());
        bytes.extend(u32::try_from(json.len()).unwrap_or(0).to_le_bytes());
        bytes.extend(json);
        bytes.extend(body);
    }
    bytes
}

/// What a container says to this process, once that has asked for everything: each call ends.
///
/// # Panics
///
/// Where more comes out than was said.
pub fn host_hears(bytes: &[u8]) {
    RUNTIME.block_on(async {
        let (ours, theirs) = duplex(ROOM);
        let (reader, writer) = split(ours);
        let bytes_said = bytes.to_vec();
        tokio::spawn(async move {
            let (mut from, mut to) = split(theirs);
            let ready = encode(0, &ToHost::Ready { version: VERSION, home: None, places: Places::default() }, &[])
                .unwrap_or_default();
            let _ = to.write_all(&ready).await;
            let mut heard = vec![0; ROOM];
            // Its start and at least one call, of which all are asked for at once.
            for _ in 0..2 {
                let _ = from.read(&mut heard).await;
            }
            let listening = tokio::spawn(async move { while matches!(from.read(&mut heard).await, Ok(1..)) {} });
            let _ = to.write_all(&bytes_said).await;
            let _ = to.shutdown().await;
            let _ = listening.await;
        });
        let Ok(connection) = Connection::open(reader, writer, setup()).await else { return };
        let remote = Remote::new(Fixed(Arc::new(connection)), VirtualPath::root(), Limits::default());
        let (root, call) = (VirtualPath::root(), Call::default());
        let (glob, grep) = (GlobQuery::new("*", root.clone()), GrepQuery::new("x", root.clone()));
        let mut request = ExecuteRequest::new("true");
        request.timeout = Some(Duration::from_secs(600));
        let change = Box::new(|old: Option<_>| {
            drop(old);
            Ok(Vec::new())
        });
        let (read, list, _, _, ran, _) = tokio::join!(
            remote.read_bytes(&root, 1 << 20, &call),
            remote.list(&root, 1, &call),
            remote.glob(&glob, &call),
            remote.grep(&grep, &call),
            remote.execute(request, &call),
            remote.update(&root, Operation::Write, Missing::Create, change, &call),
        );
        assert!(read.map_or(0, |content| content.bytes.len()) <= bytes.len(), "content is what was said");
        assert!(list.map_or(0, |listing| listing.entries.len()) <= bytes.len(), "entries are what was said");
        assert!(ran.map_or(0, |outcome| outcome.stdout.len()) <= 3 * bytes.len(), "output is what was said");
    });
}

/// What somebody else may say to the guest, whose files are of memory here: it ends with its input.
pub fn guest_hears(bytes: &[u8]) {
    let start =
        serde_json::to_vec(&setup()).ok().and_then(|setup| encode(0, &ToGuest::Start { version: VERSION }, &setup));
    let input = [start.unwrap_or_default(), bytes.to_vec()].concat();
    serve(Cursor::new(input), sink(), RUNTIME.handle(), |setup| {
        StateBackend::new(StateOptions::default(), setup.limits)
    });
}
