//! Output that is taken slowly, or comes faster than anything else gets its turn: the end of a command, its time and an abort are
//! seen all the same.

use std::io::Write;

use super::super::child::pipes;
use super::*;
use crate::backend::OutputSink;
use crate::backend::process::Order;

/// 60 s: a process that lives after that was not ended.
const PATIENCE: Duration = Duration::from_secs(60);

/// A sink that is told the number of a process by its first piece, and takes nothing more before that process is dead. What is
/// to happen meanwhile is `then`; how long the process lived is told in the end, nothing where it outlived patience.
fn slow(then: impl Fn() + Send + Sync + 'static) -> (OutputSink, std::sync::mpsc::Receiver<Option<Duration>>) {
    let (say, said) = std::sync::mpsc::channel();
    let is_first = Mutex::new(true);
    let sink = move |chunk: OutputChunk| {
        if !std::mem::replace(&mut *is_first.lock(), false) {
            return;
        }
        then();
        let process = chunk.text.lines().next().unwrap_or_default().to_owned();
        let begin = Instant::now();
        while is_alive(&process) && begin.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
        say.send((!is_alive(&process)).then(|| begin.elapsed())).unwrap();
    };
    (Arc::new(sink), said)
}

const ENDLESS: &str = "echo $$; exec yes";

/// Nobody looked at the time while a piece of output waited for the application's code.
pub(super) async fn a_slow_reader_of_output_holds_up_no_timeout() {
    // A loaded machine may need longer for the first piece than the command is given.
    for milliseconds in [300, 3_000, 30_000] {
        let (sink, said) = slow(|| {});
        let outcome = run(ExecuteRequest { on_output: Some(sink), ..within(ENDLESS, milliseconds) }).await;
        assert!(outcome.timed_out);
        if let Ok(lived) = said.recv() {
            return assert!(lived.is_some(), "it lived on");
        }
    }
    panic!("it printed nothing");
}

pub(super) async fn a_slow_reader_of_output_holds_up_no_abort() {
    let cancel = CancelToken::new();
    let stop = cancel.clone();
    let (sink, said) = slow(move || stop.cancel());
    let request = ExecuteRequest { on_output: Some(sink), ..request(ENDLESS) };
    let outcome = run_with(request, &call_with(&cancel)).await.unwrap();
    assert!(outcome.aborted);
    assert!(said.recv().unwrap().is_some(), "it lived on");
}

pub(super) async fn a_slow_reader_of_output_holds_up_no_order() {
    let (sender, begun) = tokio::sync::oneshot::channel();
    let sender = Mutex::new(Some(sender));
    let (sink, said) = slow(move || {
        if let Some(sender) = sender.lock().take() {
            sender.send(()).unwrap();
        }
    });
    let request = ExecuteRequest { on_output: Some(sink), ..request(ENDLESS) };
    let runner = runner();
    let process = runner.start_beside(request, open(&std::env::temp_dir())).await.unwrap();
    begun.await.unwrap();
    process.order(Order::End).await.unwrap();
    process.over().await;
    assert!(said.recv().unwrap().is_some(), "it lived on");
}

/// A command that printed faster than it was read hid its own end, and that of its time.
#[tokio::test]
async fn a_pipe_that_is_never_empty_lets_others_have_their_turn() {
    let (ours, theirs) = pipes(false).unwrap();
    const PRINTED: usize = 1 << 20;
    rustix::pipe::fcntl_setpipe_size(&theirs.stdout, PRINTED).unwrap();
    let mut writer = fs::File::from(theirs.stdout);
    writer.write_all(&vec![b'x'; PRINTED]).unwrap();
    drop((writer, theirs.stderr));
    let mut pipes = Pipes::of(ours, Vec::new(), false).unwrap();
    let mut capture = Capture::new(2 * PRINTED, None, None);
    let turns = Cell::new(0);
    let others = async {
        loop {
            turns.set(turns.get() + 1);
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = pipes.carry(&mut capture) => {}
        () = others => {}
    }
    assert_eq!(capture.so_far().stdout.len(), PRINTED);
    assert!(turns.get() >= PRINTED / (256 << 10), "{} turns", turns.get());
}
