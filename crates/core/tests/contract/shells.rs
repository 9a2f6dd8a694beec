//! Backends made of nothing but a shell: this machine's own, busybox, one without the usual tools, one that cuts output.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use gloveport_core::backend::posix::PosixPlace;
use gloveport_core::backend::remote::{RemoteBackend, RemoteOptions};
use gloveport_core::backend::{BoxFuture, Call, ExecuteOutcome, ExecuteRequest, Shell, Window};
use gloveport_core::error::Result;
use gloveport_core::path::VirtualPath;

use crate::run::{Place, contract};

/// Gives every command as one argument to a program.
struct Program {
    program: Vec<String>,
    /// Bytes of output that come through.
    room: usize,
}

impl Shell for Program {
    fn execute<'a>(&'a self, request: ExecuteRequest, _call: &'a Call) -> BoxFuture<'a, Result<ExecuteOutcome>> {
        Box::pin(async move {
            assert!(request.command.len() < 128 << 10, "a command fits into one argument");
            let mut command = Command::new(&self.program[0]);
            command.args(&self.program[1..]).arg(request.command).stdin(Stdio::null());
            let ended = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
            let mut stdout = String::from_utf8_lossy(&ended.stdout).into_owned();
            // As careless shells do: without a word.
            stdout.truncate(self.room);
            Ok(ExecuteOutcome {
                output: stdout.clone(),
                stdout,
                exit_code: ended.status.code(),
                ..ExecuteOutcome::default()
            })
        })
    }
}

fn shell(program: &str, room: usize) -> Place {
    let directory = tempfile::tempdir().unwrap();
    let base = VirtualPath::absolute(directory.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
    let program = program.split(' ').map(str::to_owned).collect();
    let place = Arc::new(PosixPlace::new(Arc::new(Program { program, room })));
    let backend = RemoteBackend::new(place, None, RemoteOptions::default());
    Place { backend: Box::new(backend), base, _directory: Some(directory) }
}

/// A folder with links to busybox for these tools.
fn busybox(folder: &Path, without: &[&str]) -> Option<String> {
    let listed = Command::new("busybox").arg("--list").output().ok()?;
    let program = ["/bin/busybox", "/usr/bin/busybox"].into_iter().find(|path| Path::new(path).exists())?;
    for tool in String::from_utf8(listed.stdout).ok()?.lines().filter(|tool| !without.contains(tool)) {
        std::os::unix::fs::symlink(program, folder.join(tool)).ok()?;
    }
    let folder = folder.display();
    Some(format!("env -i PATH={folder} {folder}/sh -c"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_keeps_the_contract() {
    contract("shell", || shell("sh -c", usize::MAX)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_of_busybox_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = busybox(folder.path(), &[]) else { panic!("busybox is missing: install busybox") };
    contract("shell of busybox", || shell(&program, usize::MAX)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_without_base64_and_stat_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = busybox(folder.path(), &["base64", "stat"]) else {
        panic!("busybox is missing: install busybox")
    };
    contract("shell, few tools", || shell(&program, usize::MAX)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_cuts_output_keeps_the_contract() {
    contract("shell, cut output", || shell("sh -c", 4_000)).await;
}

/// Bytes of every value, without a period that a piece could hide.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u8::try_from(state >> 24).unwrap()
    };
    (0..length).map(next).collect()
}

/// Regression case 6, D17: what upstream lost above 75 kB.
#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_any_size_come_through_a_shell() {
    let folder = tempfile::tempdir().unwrap();
    let few = busybox(folder.path(), &["base64", "stat"]).expect("busybox is missing: install busybox");
    let (whole, cut) = (usize::MAX, 10_000);
    for (program, room, size) in [("sh -c", whole, 3 << 20), ("sh -c", cut, 100_000), (&*few, whole, 100_000)] {
        let Place { backend, base, _directory } = shell(program, room);
        let path = base.join("-rf $(id) 'x'\n.bin").unwrap();
        let content = noise(size);
        let call = Call::default();
        let written = content.clone();
        let transform = Box::new(move |_: Option<_>| Ok(written));
        let writer = backend.writer().unwrap();
        let updated = writer
            .update(
                &path,
                gloveport_core::access::Operation::Write,
                gloveport_core::backend::Missing::Create,
                transform,
                &call,
            )
            .await
            .unwrap();
        assert_eq!((updated.created, updated.size), (true, size as u64));
        assert!(backend.files().read_bytes(&path, 64 << 20, &call).await.unwrap().bytes == content, "{program} {room}");
        writer.append(&path, content.clone(), &call).await.unwrap();
        let both = backend.files().read_bytes(&path, 64 << 20, &call).await.unwrap().bytes;
        assert!(both == [content.as_slice(), &content].concat(), "{program} {room}");
        let left: Vec<_> = std::fs::read_dir(base.as_str()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 1, "no temporary file is left: {left:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_of_a_large_file_costs_its_pieces() {
    let Place { backend, base, _directory } = shell("sh -c", usize::MAX);
    let path = base.join("large.txt").unwrap();
    let lines: String = (0..800_000).map(|line| format!("line {line}\n")).collect();
    std::fs::write(path.as_str(), &lines).unwrap();
    let window = Window { offset: 5, limit: 2, max_bytes: 1000 };
    let slice = backend.files().read(&path, window, &Call::default()).await.unwrap();
    assert_eq!((slice.content.as_str(), slice.bytes), ("line 5\nline 6\n", lines.len() as u64));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_keeps_permission_bits_and_links() {
    use std::os::unix::fs::PermissionsExt as _;
    let Place { backend, base, _directory } = shell("sh -c", usize::MAX);
    let path = base.join("tool.sh").unwrap();
    std::fs::write(path.as_str(), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(path.as_str(), std::fs::Permissions::from_mode(0o4750)).unwrap();
    let link = base.join("link").unwrap();
    std::os::unix::fs::symlink("tool.sh", link.as_str()).unwrap();
    let updated = backend
        .writer()
        .unwrap()
        .update(
            &link,
            gloveport_core::access::Operation::Write,
            gloveport_core::backend::Missing::Create,
            Box::new(|_| Ok(b"changed\n".to_vec())),
            &Call::default(),
        )
        .await
        .unwrap();
    assert_eq!(updated.resolved, path);
    assert!(std::fs::symlink_metadata(link.as_str()).unwrap().is_symlink());
    let metadata = std::fs::metadata(path.as_str()).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o750);
    assert_eq!(std::fs::read_to_string(path.as_str()).unwrap(), "changed\n");
    let listed =
        backend.files().list(&VirtualPath::absolute(base.as_str()).unwrap(), 1, &Call::default()).await.unwrap();
    let names: Vec<_> = listed.entries.iter().map(|entry| (entry.name.as_str(), entry.size)).collect();
    assert_eq!(names, [("link", 8), ("tool.sh", 8)]);
}
