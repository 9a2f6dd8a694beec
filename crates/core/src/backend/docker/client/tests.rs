//! What an engine may say, and what something else may.

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, duplex, sink};

use super::http::{Reader, request};
use super::*;

/// Bytes that come in pieces of at most so many.
fn pieces(bytes: Vec<u8>, most: usize) -> Reader {
    let (mut from, to) = duplex(most);
    tokio::spawn(async move {
        let _ = from.write_all(&bytes).await;
    });
    Box::new(to)
}

async fn answer(bytes: &[u8], most: usize) -> Result<Answer, Failure> {
    Answer::read(pieces(bytes.to_vec(), most), Box::new(sink()), false, false).await
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn frame(stream: u8, bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![stream, 0, 0, 0];
    frame.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
    frame.extend(bytes);
    frame
}

proptest! {
    #[test]
    fn a_body_comes_out_as_it_went_in(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..8),
        most in 1usize..50,
        chunked in any::<bool>(),
    ) {
        let body = chunks.concat();
        let mut bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nApi-Version: 1.41\r\n".to_vec();
        if chunked {
            bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in &chunks {
                bytes.extend(format!("{:X};extension\r\n", chunk.len()).bytes());
                bytes.extend(chunk);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
        } else {
            bytes.extend(format!("content-length: {}\r\n\r\n", body.len()).bytes());
            bytes.extend(&body);
            bytes.extend(b"what follows is not read");
        }
        wait(async {
            let mut answer = answer(&bytes, most).await.unwrap();
            prop_assert_eq!((answer.status, answer.api_version.as_deref()), (200, Some("1.41")));
            prop_assert_eq!(answer.whole(1 << 20).await.unwrap(), body);
            Ok(())
        })?;
    }

    #[test]
    fn one_stream_of_two_comes_out(
        frames in prop::collection::vec((0u8..4, prop::collection::vec(any::<u8>(), 0..40)), 0..8),
        came in 0usize..30,
        most in 1usize..50,
    ) {
        let bytes: Vec<u8> = frames.iter().flat_map(|(stream, bytes)| frame(*stream, bytes)).collect();
        let wanted: Vec<u8> = frames.iter().filter(|(stream, _)| *stream == 1).flat_map(|(_, bytes)| bytes.clone()).collect();
        let (came, later) = bytes.split_at(came.min(bytes.len()));
        wait(async {
            let mut output = Output::new(pieces(later.to_vec(), most), came.to_vec());
            let mut got = Vec::new();
            output.read_to_end(&mut got).await.unwrap();
            prop_assert_eq!(got, wanted);
            Ok(())
        })?;
    }

    #[test]
    fn any_bytes_are_survived(bytes in any::<Vec<u8>>(), head in any::<bool>(), most in 1usize..50) {
        let bytes = if head { [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", &bytes[..]].concat() } else { bytes };
        wait(async {
            if let Ok(mut answer) = answer(&bytes, most).await {
                let _ = answer.whole(1 << 20).await;
            }
            let _ = Output::new(pieces(bytes, most), Vec::new()).read_to_end(&mut Vec::new()).await;
        });
    }
}

#[tokio::test]
async fn what_no_engine_says_is_nonsense() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(40 << 10));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(65));
    for head in [
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nthe end is miss",
        &long,
        &many,
    ] {
        assert_eq!(answer(head.as_bytes(), 64).await.err(), Some(Failure::Nonsense), "{head}");
    }
    for (body, failure) in [
        ("+1\r\nx\r\n0\r\n\r\n", Failure::Nonsense),
        ("FFFFFFFFFFFFFFFFF\r\n", Failure::Nonsense),
        ("\r\n", Failure::Nonsense),
        ("1\r\nxy\r\n0\r\n\r\n", Failure::Nonsense),
        ("5\r\nx", Failure::Lost("the connection broke")),
        ("", Failure::Lost("the connection broke")),
        // An announced length is neither believed nor held.
        ("FFFFFFFFFFFFFFFF\r\nx", Failure::Lost("the connection broke")),
        ("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", Failure::Nonsense),
    ] {
        let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        // The last one is right, and too long for who asked.
        assert_eq!(answer(bytes.as_bytes(), 64).await.unwrap().whole(4).await.err(), Some(failure), "{body}");
    }
    let cut = frame(1, b"abc");
    let error = Output::new(pieces(cut[..9].to_vec(), 64), Vec::new()).read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    let error = Output::new(pieces(frame(4, b"abc"), 64), Vec::new()).read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
}

#[test]
fn a_name_stays_in_its_place() {
    let path = Path::new("/images").name("a/b:c d?x=1&y#z%\r\nHost: other").then("json").with("t", "a/b&c=d e");
    assert_eq!(path.0, "/images/a/b%3Ac%20d%3Fx%3D1%26y%23z%25%0D%0AHost%3A%20other/json?t=a%2Fb%26c%3Dd%20e");
    assert_eq!(Path::new("/x").with("a", "1").with("b", "2").0, "/x?a=1&b=2");
    let head = request("POST", "/x", Some("application/json"), 2, true);
    assert_eq!(
        head,
        "POST /x HTTP/1.1\r\nHost: docker\r\nUser-Agent: gloveport\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\
         Content-Type: application/json\r\nContent-Length: 2\r\n\r\n"
    );
}

/// Something that answers each connection with the next of these, and hands back what it was asked.
#[cfg(unix)]
async fn serve(answers: &[&str]) -> (tempfile::TempDir, Address, tokio::task::JoinHandle<Vec<String>>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.sock");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let answers: Vec<String> = answers.iter().map(|&text| text.to_owned()).collect();
    let served = tokio::spawn(async move {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
            let mut body = vec![0; length.parse().unwrap()];
            stream.read_exact(&mut body).await.unwrap();
            asked.push(format!("{} {}", head.lines().next().unwrap(), String::from_utf8(body).unwrap()));
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        asked
    });
    (folder, Address::Unix(path), served)
}

#[cfg(unix)]
const HELLO: &str = "HTTP/1.1 200 OK\r\nApi-Version: 1.40\r\nContent-Length: 2\r\n\r\nOK";

#[cfg(unix)]
#[tokio::test]
async fn speaks_the_older_version_of_two_and_hears_refusals() {
    let (_folder, address, served) = serve(&[
        HELLO,
        "HTTP/1.1 404 Not Found\r\nContent-Length: 21\r\n\r\n{\"message\":\"no such\"}",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 500 Oh\r\nContent-Length: 4\r\n\r\n<ht>",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<ht>",
    ])
    .await;
    let engine = Engine::hello(address).await.unwrap();
    let path = || Path::new("/containers").name("x").then("json");
    let failure = engine.ask("GET", &path(), Payload::Nothing).await.unwrap_err();
    assert!(failure.is_missing() && !failure.is_conflict());
    assert_eq!(failure, Failure::Refused { status: 404, message: "no such".to_owned() });
    assert_eq!(engine.ask("POST", &path(), Payload::Json(&serde_json::json!({"a": 1}))).await, Ok(Value::Null));
    let failure = engine.ask("GET", &path(), Payload::Nothing).await.unwrap_err();
    assert_eq!(failure, Failure::Refused { status: 500, message: String::new() });
    assert_eq!(engine.ask("GET", &path(), Payload::Nothing).await, Err(Failure::Nonsense));
    assert_eq!(
        served.await.unwrap()[..3],
        [
            "GET /_ping HTTP/1.1 ",
            "GET /v1.40/containers/x/json HTTP/1.1 ",
            "POST /v1.40/containers/x/json HTTP/1.1 {\"a\":1}"
        ]
    );
}

#[cfg(unix)]
#[tokio::test]
async fn messages_come_one_by_one_and_a_failure_among_them_is_one() {
    let (_folder, address, _served) = serve(&[
        HELLO,
        "HTTP/1.1 200 OK\r\n\r\n{\"stream\":\"one\"}\r\n\r\n{\"stream\":\"two\"}",
        "HTTP/1.1 200 OK\r\n\r\n{\"stream\":\"one\"}\r\n{\"errorDetail\":{\"message\":\"why\"},\"error\":\"x\"}\r\n{\"stream\":\"more\"}",
    ])
    .await;
    let engine = Engine::hello(address).await.unwrap();
    for ended in [Ok(()), Err(Failure::Broken("why".to_owned()))] {
        let mut heard = Vec::new();
        let followed =
            engine.follow(&Path::new("/build"), Payload::Archive(b"tar"), |said| heard.push(said.clone())).await;
        let expected: &[&str] = if ended.is_ok() { &["one", "two"] } else { &["one"] };
        assert_eq!(heard.iter().map(|said| said["stream"].as_str().unwrap()).collect::<Vec<_>>(), expected);
        assert_eq!(followed, ended);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_speaks_for_us_and_is_ended() {
    // Hears the whole question before it answers, as an engine does.
    let script = format!(
        "while read -r line && [ \"${{#line}}\" -gt 1 ]; do :; done; printf '{}'",
        HELLO.replace('\r', "\\r").replace('\n', "\\n")
    );
    let address = Address::Program(["sh", "-c", &script].map(str::to_owned).into());
    let engine = Engine::hello(address).await.unwrap();
    assert_eq!(engine.version, (1, 40));
    let missing = Address::Program(vec!["no-such-program-of-gloveport".to_owned()]);
    assert_eq!(Engine::hello(missing).await.err(), Some(Failure::Lost("that program is not installed")));
    // What it complains of is kept, not what it dyes it with, and of much the end.
    let much = "yes 0123456789 | head -n 100000 >&2; echo the end of it >&2";
    for (script, whole) in
        [("exit 1", Some("")), ("printf '\\033[31mwhy\\033[m\\n' >&2; exit 1", Some("why")), (much, None)]
    {
        let mute = Address::Program(["sh", "-c", script].map(str::to_owned).into());
        let Err(Failure::Unled(said)) = Engine::hello(mute).await else { panic!("{script}: it answered") };
        assert!(
            whole.map_or(said.len() <= 2 << 10 && said.ends_with("\nthe end of it"), |whole| said == whole),
            "{said}"
        );
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_build_that_says_nothing_for_too_long_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.sock");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let engine = Engine::at(Address::Unix(path));
    for said in ["", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"a\":1}\n\r\n"] {
        let silent = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(said.as_bytes()).await.unwrap();
            std::future::pending::<()>().await;
        };
        let mut heard = 0;
        let path = Path::new("/build");
        let followed = engine.follow_within(Duration::from_millis(200), &path, Payload::Nothing, |_| heard += 1);
        let failure = tokio::select! {
            followed = followed => followed.unwrap_err(),
            () = silent => unreachable!(),
        };
        assert_eq!(failure, Failure::Lost("it said nothing for too long"));
        assert!(heard <= usize::from(!said.is_empty()));
    }
}

#[test]
fn what_is_large_may_travel_longer() {
    assert_eq!(travel(0), Duration::ZERO);
    assert_eq!(travel(Payload::Archive(&vec![0; 16 << 20]).bytes()), Duration::from_secs(256));
    assert_eq!(Payload::Nothing.bytes(), 0);
}
