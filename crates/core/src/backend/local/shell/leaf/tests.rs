//! On a machine that gives no leaf these hold what is promised there; `.ci/run`'s gives one.

use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

use super::*;
use crate::backend::local::shell::supervised::tests::{is_alone, program, wait_for_death};
use crate::backend::local::shell::{CommandRunner, Environment, SupervisorProgram};
use crate::backend::{Background, Call, CommandLimits, ExecuteOutcome, ExecuteRequest, TerminalRequest, TerminalSize};

fn runner(program: SupervisorProgram) -> CommandRunner {
    CommandRunner::new(Environment::of_host(&[]).unwrap(), 100_000).with_supervisor(program)
}

async fn run(runner: &CommandRunner, request: ExecuteRequest) -> ExecuteOutcome {
    let request = ExecuteRequest { timeout: Some(Duration::from_secs(60)), ..request };
    let directory = rustix::fs::open(std::env::temp_dir(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
    runner.run(request, directory, &Call::default()).await.unwrap()
}

fn has_leaves() -> bool {
    Leaf::make().is_some()
}

/// The leaves of this process that are there.
fn leaves() -> Vec<String> {
    let this = Owner::this().unwrap();
    let is_ours = |name: &String| Owner::of(name) == Some(this);
    own_cgroup().map(|parent| directories_in(&parent).into_iter().filter(is_ours).collect()).unwrap_or_default()
}

/// Waits until no leaf of this process is left; the test runner's own limit ends a test in which one always is.
async fn wait_for_no_leaf() {
    while !leaves().is_empty() {
        tokio::task::yield_now().await;
    }
}

/// A daemon without parent, environment and pipes, which says its number; then the end of the supervisor.
const LEAVES_A_DAEMON: &str = "setsid sh -c 'env -i sleep 300 <&- >&- 2>&- & echo $!' & wait; kill -9 $PPID; sleep 300";

/// What had dropped its mark lived on when its command had killed the supervisor, and nobody knew of it any more.
#[tokio::test]
async fn nobody_lives_on_whose_command_killed_its_supervisor_where_there_are_leaves() {
    for (program, has_leaf) in [(program(), has_leaves()), (program().without_leaf(), false)] {
        let runner = runner(program);
        let outcome = run(&runner, ExecuteRequest::new(LEAVES_A_DAEMON)).await;
        // It could have left its leaf: whether it did is not known.
        assert!(outcome.supervisor_lost && outcome.exit_code.is_none() && !outcome.timed_out, "{outcome:?}");
        let daemon = outcome.stdout.trim();
        if has_leaf {
            wait_for_death(daemon).await;
        } else {
            let number = Pid::from_raw(daemon.parse().unwrap()).unwrap();
            rustix::process::kill_process(number, rustix::process::Signal::KILL).unwrap();
        }
        assert_eq!(run(&runner, ExecuteRequest::new("echo on")).await.stdout, "on\n");
    }
}

#[tokio::test]
async fn every_command_of_a_supervisor_is_in_one_leaf_and_none_is_left_behind() {
    let name =
        "backend::local::shell::leaf::tests::every_command_of_a_supervisor_is_in_one_leaf_and_none_is_left_behind";
    if !is_alone(name) {
        return;
    }
    let expected = usize::from(has_leaves());
    let runner = runner(program());
    let place = async || run(&runner, ExecuteRequest::new("grep ^0:: /proc/self/cgroup")).await.stdout;
    let first = place().await;
    assert_eq!((leaves().len(), &place().await), (expected, &first));
    assert_eq!(leaves().iter().filter(|leaf| first.trim().ends_with(leaf.as_str())).count(), expected);
    // The one of what is kept, of what is on a terminal, and one that is ready.
    let kept = ExecuteRequest { background: Background::Keep, ..ExecuteRequest::new("sleep 300 & echo $!") };
    let kept = run(&runner, kept).await.stdout;
    let directory = rustix::fs::open(std::env::temp_dir(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let request = TerminalRequest {
        command: Some("sleep 300".to_owned()),
        working_directory: None,
        environment: Vec::new(),
        size: TerminalSize::new(80, 24).unwrap(),
        limits: CommandLimits::default(),
        tap: None,
    };
    let terminal = runner.open_terminal(request, directory).await.unwrap();
    run(&runner, ExecuteRequest::new("true")).await;
    assert_eq!(leaves().len(), expected * 3);
    run(&runner, ExecuteRequest::new(LEAVES_A_DAEMON)).await;
    assert_eq!(leaves().len(), expected * 2);
    runner.close().await;
    drop(terminal);
    wait_for_death(&kept).await;
    wait_for_no_leaf().await;
}

/// A directory that no cgroup is.
#[tokio::test]
async fn a_supervisor_whose_leaf_is_refused_goes_on_where_it_is() {
    let name = "backend::local::shell::leaf::tests::a_supervisor_whose_leaf_is_refused_goes_on_where_it_is";
    if !is_alone(name) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let parent = Arc::new(OwnedFd::from(File::open(folder.path()).unwrap()));
    let cgroup = fs::read_to_string("/proc/self/cgroup").unwrap();
    let is_parent = Parent { path: own_path().unwrap_or_default(), directory: Some(Arc::clone(&parent)) };
    *PARENT.lock() = Some(is_parent);
    // No file of it says that it can be killed.
    assert!(Leaf::make().is_none());
    assert_eq!(directories_in(&parent), Vec::<String>::new());
    let name = "leaf";
    mkdirat(&parent, name, Mode::from_raw_mode(0o755)).unwrap();
    let leaf = Leaf { directory: opened(&parent, name).unwrap(), parent, name: name.to_owned() };
    let mut link = super::super::link::launch_in(&program(), Some(leaf)).unwrap();
    let place = fs::read_to_string(format!("/proc/{}/cgroup", link.process.pid().as_raw_nonzero())).unwrap();
    assert_eq!(place, cgroup);
    assert!(IS_REFUSED.load(Ordering::Relaxed) && Leaf::make().is_none());
    assert!(!folder.path().join(name).exists());
    drop(link.socket);
    assert!(link.process.wait());
}

fn sleeper() -> Child {
    Command::new("sleep").arg("300").stdin(Stdio::null()).spawn().unwrap()
}

fn move_into(cgroup: &OwnedFd, process: u32) {
    let procs = openat(cgroup, "cgroup.procs", OFlags::WRONLY, Mode::empty()).unwrap();
    rustix::io::write(&procs, process.to_string().as_bytes()).unwrap();
}

/// A cgroup for one test, in which others' leaves are not. `None` on a machine without.
fn cgroup_of_a_test(name: &str) -> Option<(Leaf, Arc<OwnedFd>)> {
    let parent = own_cgroup()?;
    let name = format!("test-{name}-{}", std::process::id());
    mkdirat(&parent, &name, Mode::from_raw_mode(0o755)).ok()?;
    let leaf = Leaf { directory: opened(&parent, &name)?, parent, name };
    let directory = Arc::new(leaf.handle()?);
    Some((leaf, directory))
}

#[test]
fn what_a_dead_process_left_is_ended_and_what_is_anybody_elses_is_not() {
    let Some((cgroup, parent)) = cgroup_of_a_test("sweep") else { return };
    let this = Owner::this().unwrap();
    let mut dead = sleeper();
    let dead_owner = Owner { pid: dead.id().cast_signed(), start: start_of(dead.id().cast_signed()).unwrap(), ..this };
    assert!(dead_owner.may_live());
    dead.kill().unwrap();
    dead.wait().unwrap();
    let make = |name: String| {
        mkdirat(&parent, &name, Mode::from_raw_mode(0o755)).unwrap();
        let sleeper = sleeper();
        move_into(&opened(&parent, &name).unwrap(), sleeper.id());
        (name, sleeper)
    };
    let recycled = Owner { start: this.start - 1, ..this };
    let swept = [make(dead_owner.leaf(0)), make(recycled.leaf(0))];
    // As a command may have made it.
    let below = opened(&parent, &swept[0].0).unwrap();
    mkdirat(&below, "below", Mode::from_raw_mode(0o755)).unwrap();
    let stays = [
        make(this.leaf(7)),
        make(Owner { namespace: 1, ..dead_owner }.leaf(0)),
        make(format!("{}-more", dead_owner.leaf(0))),
        make(format!("{PREFIX}-+1-2-3-4")),
        make("other".to_owned()),
    ];
    sweep(&parent);
    let mut names = directories_in(&parent);
    names.sort();
    let mut expected: Vec<String> = stays.iter().map(|(name, _)| name.clone()).collect();
    expected.sort();
    assert_eq!(names, expected);
    for (_, mut sleeper) in swept {
        assert!(!sleeper.wait().unwrap().success());
    }
    for (_, mut sleeper) in stays {
        assert!(sleeper.try_wait().unwrap().is_none());
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }
    cgroup.end();
}

#[test]
fn a_process_that_was_moved_into_its_own_leaf_does_not_kill_itself() {
    let name = "backend::local::shell::leaf::tests::a_process_that_was_moved_into_its_own_leaf_does_not_kill_itself";
    if !is_alone(name) {
        return;
    }
    let (Some(leaf), Some(own)) = (Leaf::make(), own_cgroup()) else { return };
    let directory = leaf.handle().unwrap();
    mkdirat(&directory, "below", Mode::from_raw_mode(0o755)).unwrap();
    for place in [opened(&directory, "below").unwrap(), directory.as_fd().try_clone_to_owned().unwrap()] {
        move_into(&place, std::process::id());
        let again = Leaf { parent: Arc::clone(&own), name: leaf.name.clone(), directory: leaf.handle().unwrap() };
        assert_eq!(again.end(), 0);
        move_into(&own, std::process::id());
    }
    let name = leaf.name.clone();
    leaf.end();
    assert!(!directories_in(&own).contains(&name));
}

#[test]
fn only_whole_names_of_leaves_have_an_owner() {
    let owner = Owner { namespace: 4_026_531_836, pid: 12, start: 34 };
    let name = owner.leaf(5);
    assert_eq!((name.as_str(), Owner::of(&name)), ("gloveport-4026531836-12-34-5", Some(owner)));
    for name in ["", "gloveport", "gloveport-1-2-3", "gloveport-1-2-3-4-5", "gloveport-1-2-3-x", "gloveport-01-2-3-4"] {
        assert_eq!(Owner::of(name), None, "{name}");
    }
}
