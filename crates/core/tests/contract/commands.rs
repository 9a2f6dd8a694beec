//! The cases of commands: every backend that runs some answers them in the same words.

use std::sync::Arc;
use std::time::Duration;

use gloveport_core::backend::{Backend, Call, ExecuteOutcome, ExecuteRequest, OutputChunk, Stream};
use gloveport_core::error::Result;
use gloveport_core::path::VirtualPath;
use tokio::sync::mpsc;

use crate::run::Place;

/// A name, what is asked, and the answer.
type Case = (&'static str, &'static str, fn(&mut ExecuteRequest, &VirtualPath), &'static str);

const NO_TIME: &Case = &(
    "no time is a timeout, and starts nothing",
    "echo >started",
    |request, _| request.timeout = Some(Duration::ZERO),
    "timed out",
);
/// 16 times more: whether it was an outcome or an error was a matter of chance where somebody else runs the command.
const TIMES: usize = 16;

/// All cases, one after the other in one directory.
const CASES: &[Case] = &[
    (
        "streams are told apart, and the exit code is told",
        "echo out; echo err >&2; exit 3",
        |_, _| {},
        r#"out "out\n" err "err\n" code 3"#,
    ),
    (
        "what waits for input ends",
        "read line; echo \"$? $line\"; cat; echo end",
        |_, _| {},
        r#"out "1 \nend\n" code 0"#,
    ),
    (
        "input that is empty ends as well",
        "cat; echo end",
        |request, _| request.stdin = Some(Vec::new()),
        r#"out "end\n" code 0"#,
    ),
    (
        "input is read as it is",
        "od -An -c | tr -d ' \\n'",
        |request, _| request.stdin = Some(b"a\r\n\0\xff".to_vec()),
        r#"out "a\\r\\n\\0377" code 0"#,
    ),
    *NO_TIME,
    (
        "without a timeout a command ends by itself",
        "[ -e started ] || echo no",
        |request, _| request.timeout = None,
        r#"out "no\n" code 0"#,
    ),
    (
        "a directory is where it runs",
        "mkdir 'a b' && cd 'a b' && pwd",
        |_, base| assert!(!base.is_root()),
        r#"out "/a b\n" code 0"#,
    ),
    (
        "another directory is one as well",
        "pwd",
        |request, base| request.working_directory = base.join("a b").ok(),
        r#"out "/a b\n" code 0"#,
    ),
    (
        "a missing directory is said to be missing",
        "echo never",
        |request, base| request.working_directory = base.join("missing").ok(),
        "FILE_NOT_FOUND '/missing' does not exist.",
    ),
    ("a file is no directory", "echo text >file", |_, _| {}, "code 0"),
    (
        "a file is said to be no directory",
        "echo never",
        |request, base| request.working_directory = base.join("file").ok(),
        "NOT_A_DIRECTORY '/file' is not a directory.",
    ),
    (
        "variables are values, over those of the backend",
        "printf '%s|' \"$A\" \"$PATH\"",
        |request, _| {
            request.environment = vec![
                ("A".to_owned(), "it's \"$HOME\"\n`x`".to_owned()),
                ("PATH".to_owned(), "/bin:/usr/bin".to_owned()),
            ];
        },
        r#"out "it's \"$HOME\"\n`x`|/bin:/usr/bin|" code 0"#,
    ),
    ("variables end with their command", "echo \"${A-none}\"", |_, _| {}, r#"out "none\n" code 0"#),
    ("output that is no text is shown", "printf 'a\\377b'", |_, _| {}, "out \"a\u{FFFD}b\" code 0"),
    (
        "a command has lines, quotes and comments",
        "# one\nfor x in 1 \"2  3\"; do\n  echo \"$x\"\ndone # 'end",
        |_, _| {},
        r#"out "1\n2  3\n" code 0"#,
    ),
    ("a command may begin with a dash", "-x 2>/dev/null; echo $?", |_, _| {}, r#"out "127\n" code 0"#),
    (
        "an empty command is refused",
        " \n",
        |_, _| {},
        "INVALID_INPUT The command is empty; give a command line for the shell.",
    ),
    (
        "a NUL is refused",
        "echo a\0b",
        |_, _| {},
        "INVALID_INPUT The command holds a NUL character; a command line is text without NUL.",
    ),
];

/// Runs every case on a backend and compares all answers.
pub(crate) async fn command_contract(name: &str, place: &Place) {
    let Place { backend, base, _directory } = place;
    let mut wrong = String::new();
    for (case, command, adjust, expected) in CASES.iter().chain(std::iter::repeat_n(NO_TIME, TIMES)) {
        let mut request = ExecuteRequest::new(*command);
        request.working_directory = Some(base.clone());
        // So that what should end and does not fails by name.
        request.timeout = Some(Duration::from_secs(60));
        adjust(&mut request, base);
        let answer = backend.shell().unwrap().execute(request, &Call::default()).await;
        let answer = said(answer).replace(base.as_str(), "");
        if answer != *expected {
            wrong += &format!("{name}: {case}\n  {command}\n  expected {expected}\n  answered {answer}\n");
        }
    }
    println!("{name}: {} cases", CASES.len());
    assert!(wrong.is_empty(), "\n{wrong}");
    assert_eq!(order(&**backend, base).await, "out \"1\\n\" err \"2\\n\" out \"3\\n\" of \"1\\n2\\n3\\n\"", "{name}");
}

/// An outcome as a line of text; what is usual is left out.
fn said(outcome: Result<ExecuteOutcome>) -> String {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return format!("{} {}", error.kind().code(), error.message()),
    };
    let mut said = Vec::new();
    for (name, text) in [("out", &outcome.stdout), ("err", &outcome.stderr)] {
        if !text.is_empty() {
            said.push(format!("{name} {text:?}"));
        }
    }
    said.extend(outcome.exit_code.map(|code| format!("code {code}")));
    said.extend(outcome.signal.map(|signal| format!("signal {signal}")));
    for (name, is_so) in [("timed out", outcome.timed_out), ("aborted", outcome.aborted), ("cut", outcome.truncated)] {
        if is_so {
            said.push(name.to_owned());
        }
    }
    said.join(" ")
}

/// Pieces of both streams, each printed once the one before has arrived: their order is a fact and no luck.
async fn order(backend: &dyn Backend, base: &VirtualPath) -> String {
    let (tell, mut heard) = mpsc::unbounded_channel();
    let wait = |n| format!("until [ -e heard-{n} ]; do :; done");
    let mut request = ExecuteRequest::new(format!("echo 1; {}; echo 2 >&2; {}; echo 3", wait(1), wait(2)));
    request.working_directory = Some(base.clone());
    request.timeout = Some(Duration::from_secs(60));
    request.on_output = Some(Arc::new(move |chunk: OutputChunk| drop(tell.send(chunk))));
    let call = Call::default();
    let answers = async {
        let mut pieces = String::new();
        let mut n = 0;
        while let Some(OutputChunk { stream, text }) = heard.recv().await {
            n += 1;
            pieces += &format!("{} {text:?} ", if stream == Stream::Stdout { "out" } else { "err" });
            let path = base.join(&format!("heard-{n}")).unwrap();
            backend.writer().unwrap().append(&path, b"x".to_vec(), &call).await.unwrap();
        }
        pieces
    };
    let (outcome, pieces) = tokio::join!(backend.shell().unwrap().execute(request, &call), answers);
    format!("{pieces}of {:?}", outcome.unwrap().output)
}
