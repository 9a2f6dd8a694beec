//! Secrets never reach a record, and a log loses nothing that it does not own up to.

use std::fs;
use std::sync::Arc;

use parking_lot::Mutex;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::*;
use crate::backend::Backend;
use crate::backend::local::{LocalBackend, LocalOptions};
use crate::backend::memory::{StateBackend, StateOptions};
use crate::error::ErrorKind;
use crate::limits::Limits;

#[test]
fn masks_values_by_the_names_beside_them() {
    for (text, masked) in [
        ("export STRIPE_KEY=abc123 && run", "export STRIPE_KEY=[masked] && run"),
        ("GITHUB_TOKEN='a b' ./x", "GITHUB_TOKEN='[masked]' ./x"),
        ("password=hunter2&user=me", "password=[masked]&user=me"),
        ("{\"apiKey\": \"va\\\"lue\", \"a\": 1}", "{\"apiKey\": \"[masked]\", \"a\": 1}"),
        ("curl -H 'Authorization: Bearer a.b-c' http://x", "curl -H 'Authorization: [masked]' http://x"),
        ("curl -u me:secretword http://x", "curl -u me:[masked] http://x"),
        ("git clone https://me:hunter2@host/r", "git clone https://me:[masked]@host/r"),
        ("login --password hunter2 --user me", "login --password [masked] --user me"),
        ("db_password: hunter2\nname: x", "db_password: [masked]\nname: x"),
        ("AWS_SECRET_ACCESS_KEY=AbC/dEf+1", "AWS_SECRET_ACCESS_KEY=[masked]"),
        ("x-api-key: abc", "x-api-key: [masked]"),
        ("bearer abcdefgh", "bearer [masked]"),
    ] {
        assert_eq!(mask(text), masked, "{text}");
    }
}

/// `PASSWORD="$(rm -rf x)"` hid what it ran, and so did whatever stood behind `cookie:` or between two quotes.
#[test]
fn a_value_ends_where_a_shell_begins_to_run() {
    for (text, masked) in [
        ("PASSWORD=\"$(rm -rf x)\"", "PASSWORD=\"$(rm -rf x)\""),
        ("PASSWORD=\"abc$(rm -rf x)def\"", "PASSWORD=\"[masked]$(rm -rf x)def\""),
        ("PASSWORD=$(rm -rf x)", "PASSWORD=$(rm -rf x)"),
        ("PASSWORD=abc$(rm -rf x)", "PASSWORD=[masked]$(rm -rf x)"),
        ("PASSWORD=`rm -rf x`", "PASSWORD=`rm -rf x`"),
        ("PASSWORD=\"a`rm -rf x`\"", "PASSWORD=\"[masked]`rm -rf x`\""),
        ("x --password <(rm -rf x)", "x --password <(rm -rf x)"),
        ("TOKEN=\"$(curl -u me:hunter2 http://h)\"", "TOKEN=\"$(curl -u me:[masked] http://h)\""),
        ("cookie=1; rm -rf x", "cookie=[masked]; rm -rf x"),
        ("authorization=1 rm -rf x", "authorization=[masked] rm -rf x"),
        (": authorization: 1 && rm -rf x", ": authorization: [masked]&& rm -rf x"),
        ("curl -u a:$(reboot) h", "curl -u a:$(reboot) h"),
        ("curl http://a:$(reboot)@h", "curl http://a:$(reboot)@h"),
        ("Cookie: a=1; b=2\r\nHost: h", "Cookie: [masked]\r\nHost: h"),
    ] {
        assert_eq!(mask(text), masked, "{text}");
    }
}

/// The same in the record of a call, where a parser says what runs: no name beside a command hides it.
#[test]
fn a_command_line_shows_every_command_that_it_runs() {
    for (command, masked) in [
        ("PASSWORD=hunter2 ./deploy", "PASSWORD=[masked] ./deploy"),
        ("mysql --password hunter2 -e 'select 1'", "mysql --password [masked] -e 'select 1'"),
        ("curl -H 'Authorization: Bearer abcdef' h", "curl -H 'Authorization: [masked]' h"),
        ("TOKEN='a b'; echo x", "TOKEN='[masked]'; echo x"),
        ("PASSWORD= rm -rf x", "PASSWORD= rm -rf x"),
        ("PASSWORD=\nrm -rf x", "PASSWORD=\nrm -rf x"),
        ("foo --password\nreboot", "foo --password\nreboot"),
        (": \"token\": 'a'; rm -rf x", ": \"token\": '[masked]'; rm -rf x"),
        (": -----BEGIN PRIVATE KEY-----; rm -rf x", ": -----BEGIN PRIVATE KEY-----; rm -rf x"),
        (": -----BEGIN PRIVATE KEY-----\nrm -rf x", ": -----BEGIN PRIVATE KEY-----\nrm -rf x"),
        ("echo token=\\\"; rm -rf x; echo \\\"", "echo token=\\\"; rm -rf x; echo \\\""),
        ("PASSWORD='rm -rf x'; eval \"$PASSWORD\"", "PASSWORD='rm -rf x'; eval \"$PASSWORD\""),
        ("X_KEY=./x1.sh; $X_KEY", "X_KEY=./x1.sh; $X_KEY"),
        ("X_KEY=reboot; $X_KEY", "X_KEY=reboot; $X_KEY"),
        ("X_KEY=hunter2xyz; $TOOL $X_KEY", "X_KEY=[masked]; $TOOL $X_KEY"),
        ("x_key='rm -rf x'; rm -rf x", "x_key='[masked]'; rm -rf x"),
        ("x_key=/bin/rm; /bin/rm -rf x", "x_key=[masked]; /bin/rm -rf x"),
        ("x_key=./run7.sh; env ./run7.sh", "x_key=[masked]; env ./run7.sh"),
        ("A_KEY=hunter2x; login hunter2x", "A_KEY=[masked]; login [masked]"),
        ("A_KEY=hunter2x; sh -c 'login hunter2x'", "A_KEY=[masked]; sh -c 'login [masked]'"),
    ] {
        let mut record = json!({
            "input": { "command": command },
            "request": { "touches": [{ "operation": "execute", "target": command }], "description": format!("Run: {command}") },
        });
        mask_json(&mut record);
        assert_eq!(record["input"]["command"], masked, "{command}");
        assert_eq!(record["request"]["touches"][0]["target"], masked, "{command}");
        assert_eq!(record["request"]["description"], format!("Run: {masked}"), "{command}");
    }
    for place in PLACES.iter().filter(|place| !place.starts_with(['{', '-']) && !place.contains('`')) {
        let command = format!("run {}", place.replace('%', "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0bC3dE6"));
        let mut record = json!({ "input": { "command": command } });
        mask_json(&mut record);
        assert!(!record.to_string().contains("aB3dE6"), "{record}");
    }
}

#[test]
fn fields_that_differ_in_their_secrets_alone_all_stay() {
    let mut record = json!({ "token=a": 1, "token=b": 2, "token=[masked]": 3 });
    mask_json(&mut record);
    let mut values: Vec<_> = record.as_object().unwrap().values().cloned().collect();
    values.sort_by_key(ToString::to_string);
    assert_eq!(values, [json!(1), json!(2), json!(3)]);
}

#[test]
fn masks_known_shapes_wherever_they_stand() {
    for shape in [
        "sk-abcdefghijklmnop1234",
        "sk-ant-api03-abcdefghijklmnop",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_abcdefghijklmnopqrstuv",
        "glpat-abcdefghijklmnopqrst",
        "xoxb-123456789012-abcdef",
        "AKIAABCDEFGHIJKLMNOP",
        "AIzaabcdefghijklmnopqrstuvwxyz012345678",
        "npm_abcdefghijklmnopqrstuvwxyz0123456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_123",
        "sk_live_abcdefghijkl",
    ] {
        assert_eq!(mask(&format!("echo {shape}; ls")), "echo [masked]; ls");
        assert_eq!(mask(shape), "[masked]");
    }
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----";
    assert_eq!(mask(&format!("a\n{key}\nb")), "a\n[masked]\nb");
    assert_eq!(mask("a -----BEGIN PRIVATE KEY-----\ncut off"), "a [masked]");
}

#[test]
fn leaves_what_only_sounds_like_a_secret() {
    for text in [
        "max_tokens is 4096, max_tokens=4096",
        "cd task-force-of-the-agency-of-things",
        "grep -rn password src",
        "the key is under the mat",
        "{\"key\": \"name\", \"keys\": [1]}",
        "https://example.org:8080/a@b",
        "git log --author=me",
        "monkey=banana",
        "tokenizer.encode(text)",
    ] {
        assert_eq!(mask(text), text);
    }
}

#[test]
fn a_secret_that_one_field_tells_is_masked_in_all_of_them() {
    let mut record = json!({
        "input": { "command": "echo hunter2xyz", "env": { "DB_PASSWORD": "hunter2xyz" }, "max_tokens": 5, "token": 12345 },
        "list": [{ "hunter2xyz": 1 }],
    });
    mask_json(&mut record);
    assert_eq!(
        record,
        json!({
            "input": {
                "command": "echo [masked]", "env": { "DB_PASSWORD": "[masked]" }, "max_tokens": 5, "token": "[masked]",
            },
            "list": [{ "[masked]": 1 }],
        })
    );
}

/// Places in which a secret can stand; `%` is the secret.
const PLACES: &[&str] = &[
    "API_KEY=%",
    "export MY_TOKEN=\"%\"",
    "password=%&x=1",
    "PGPASSWORD='%' psql",
    "curl -H \"Authorization: Bearer %\"",
    "curl -H 'authorization: Basic %'",
    "{\"client_secret\":\"%\"}",
    "{\\\"accessToken\\\": \\\"%\\\"}",
    "https://user:%@host/path",
    "tool --api-key %",
    "tool --token=%",
    "docker login -u me:%",
    "sk-%",
    "ghp_%",
    "secret: %",
    "const apiKey = '%'",
    "config.password := `%`",
    "X-Api-Key: %",
    "-----BEGIN PRIVATE KEY-----\n%\n-----END PRIVATE KEY-----",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn a_planted_secret_never_appears(
        secret in "[A-Za-z0-9]{10,20}[0-9][A-Za-z0-9]{10,20}",
        place in select(PLACES),
        before in "[ -~\n]{0,40}",
        after in "[ -~\n]{0,40}",
        // What a path says is told, see below.
        field in select(vec!["text", "content", "note", "x"]),
        repeated in any::<bool>(),
    ) {
        // An open quote before it makes a quoted value of all that follows, to the end: that is masked too.
        let telling = place.replace('%', &secret);
        // Where only the shape tells it, the prefix is a part of the secret.
        let secret = if place.ends_with("-%") || place.ends_with("_%") { telling.clone() } else { secret };
        let planted = format!("{before}\n{telling}\n{after}");
        let masked = mask(&planted);
        prop_assert!(!masked.contains(&secret), "{planted:?} became {masked:?}");
        let mut record = json!({ "input": { field: planted }, "error": if repeated { secret.clone() } else { String::new() } });
        mask_json(&mut record);
        prop_assert!(!record.to_string().contains(&secret), "{record}");
    }

    #[test]
    fn masking_is_total_and_settles(text in "\\PC{0,200}") {
        let once = mask(&text).into_owned();
        prop_assert_eq!(mask(&once).into_owned(), once);
    }
}

fn lines(path: &std::path::Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn appends_masked_and_shortened_lines_that_only_the_owner_reads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    fs::write(&path, "{\"old\":1}\n").unwrap();
    let log = AuditLog::open(&path, nothing().files(), Box::new(|error| panic!("{error}"))).unwrap();
    log.append(json!({ "command": "TOKEN=abcdef ls" }).to_string());
    log.append(json!({ "content": "x".repeat(10_000) }).to_string());
    log.flush().await;
    let records = lines(&path);
    assert_eq!(records[..2], [json!({ "old": 1 }), json!({ "command": "TOKEN=[masked] ls" })]);
    let content = records[2]["content"].as_str().unwrap();
    assert!(content.len() < 5_000 && content.ends_with("… (5904 more bytes)"), "{content}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn a_full_queue_loses_records_and_says_how_many() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let errors = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&errors);
    let log = AuditLog::open(&path, nothing().files(), Box::new(move |error| told.lock().push(error.kind()))).unwrap();
    // A record that is larger than the whole queue.
    log.append(json!("x".repeat(17 << 20)).to_string());
    log.append(json!({ "kept": 1 }).to_string());
    log.flush().await;
    assert_eq!(lines(&path), [json!({ "type": "records-lost", "count": 1 }), json!({ "kept": 1 })]);
    assert_eq!(*errors.lock(), [ErrorKind::Busy]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_reported_once_and_fails_no_append() {
    let errors = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&errors);
    let log =
        AuditLog::open("/dev/full".as_ref(), nothing().files(), Box::new(move |error| told.lock().push(error.kind())))
            .unwrap();
    log.append("{}".to_owned());
    log.append("{}".to_owned());
    log.flush().await;
    assert_eq!(*errors.lock(), [ErrorKind::Io]);
}

#[test]
fn a_log_that_cannot_be_opened_is_an_error_without_its_path() {
    let error = AuditLog::open("/nowhere/at/all.jsonl".as_ref(), nothing().files(), Box::new(|_| {})).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(!error.message().contains("nowhere"));
}

/// A backend that reaches nothing of this machine.
fn nothing() -> StateBackend {
    StateBackend::new(StateOptions::default(), Limits::default()).unwrap()
}

/// Whom a log is about could write it, and rename another file over it.
#[cfg(unix)]
#[test]
fn a_log_lies_where_the_agent_does_not_write() {
    let folder = tempfile::tempdir().unwrap();
    let folder = fs::canonicalize(folder.path()).unwrap();
    let (work, inner, beside) = (folder.join("work"), folder.join("work/inner"), folder.join("beside"));
    for directory in [&inner, &beside] {
        fs::create_dir_all(directory).unwrap();
    }
    std::os::unix::fs::symlink(&inner, beside.join("link")).unwrap();
    std::os::unix::fs::symlink(inner.join("log.jsonl"), beside.join("log.jsonl")).unwrap();
    fs::write(inner.join("log.jsonl"), "").unwrap();
    let backend = |root: &std::path::Path, read_only| {
        let options = LocalOptions { root: Some(root.to_owned()), read_only, ..LocalOptions::default() };
        LocalBackend::new(options).unwrap()
    };
    let opens = |backend: &dyn Backend, path: &std::path::Path| {
        AuditLog::open(path, backend.files(), Box::new(|_| {})).map(drop).map_err(|error| error.kind())
    };
    let refused = Err(ErrorKind::InvalidInput);
    let writable = backend(&work, false);
    for path in
        ["work/a.jsonl", "work/inner/log.jsonl", "work/inner/../a.jsonl", "beside/link/a.jsonl", "beside/log.jsonl"]
    {
        assert_eq!(opens(&writable, &folder.join(path)), refused, "{path}");
    }
    assert!(!work.join("a.jsonl").exists());
    assert_eq!(opens(&writable, &beside.join("a.jsonl")), Ok(()));
    assert_eq!(opens(&backend(&work, true), &work.join("b.jsonl")), Ok(()));
    assert_eq!(opens(&backend("/".as_ref(), false), &beside.join("c.jsonl")), Ok(()));
}

/// `write_file { path: 'build1.sh', content: '# token=build1.sh' }` was told without its path.
#[test]
fn what_a_call_touches_is_told_whatever_it_calls_a_token() {
    let mut record = json!({
        "tool": "write_file",
        "input": { "path": "build1.sh", "content": "# token=build1.sh", "paths": ["token=evil1.sh", ".git/hooks/pre-commit"] },
        "request": {
            "touches": [{ "operation": "write", "target": "build1.sh", "resolved": "/w/token=build1.sh" }],
            "input": { "source": "password=a1b2c3", "destination": "b" },
        },
    });
    let told = record["request"].clone();
    mask_json(&mut record);
    assert_eq!(record["input"]["path"], "build1.sh");
    assert_eq!(record["input"]["paths"], json!(["token=evil1.sh", ".git/hooks/pre-commit"]));
    assert_eq!(record["input"]["content"], "# token=[masked]");
    assert_eq!(record["request"], told);
    // What is a secret by itself is none of a path.
    let mut record = json!({ "path": "/w/ghp_abcdefghijklmnopqrstuvwxyz0123456789" });
    mask_json(&mut record);
    assert_eq!(record["path"], "/w/[masked]");
}

/// Text that is typed may be taken line by line, whatever a shell would make of the whole.
#[test]
fn typed_text_shows_every_command_of_every_line() {
    for (text, masked) in [
        ("PASSWORD= rm -rf x", "PASSWORD= rm -rf x"),
        ("PASSWORD=hunter2 ./deploy", "PASSWORD=[masked] ./deploy"),
        ("cat <<E\nPASSWORD= rm -rf x\nE", "cat <<E\nPASSWORD= rm -rf x\nE"),
        ("cat <<E\nAPI_KEY=abc123\nE", "cat <<E\nAPI_KEY=[masked]\nE"),
        (
            "-----BEGIN PRIVATE KEY-----\nrm -rf x\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nrm -rf x\n-----END PRIVATE KEY-----",
        ),
    ] {
        for (field, id) in [("text", "shell_id"), ("command", "id")] {
            let mut record = json!({ "input": { id: "s1", field: text } });
            mask_json(&mut record);
            assert_eq!(record["input"][field], masked, "{field}: {text}");
        }
    }
}

/// Each secret was looked for in each text: 169 KB that a model sends took 5.6 s, in which nothing else ran.
#[test]
fn many_secrets_of_a_record_are_looked_for_at_once() {
    let secret = |number: usize| format!("ab{number}c1x{}", "y".repeat(number % 90));
    let junk: Vec<Value> = (0..20_000).map(|number| json!(format!("token={}", secret(number)))).collect();
    let said: Vec<Value> = (0..20_000).map(|number| json!(format!("say {} twice", secret(number)))).collect();
    let commands: Vec<Value> =
        (0..2_000).map(|number| json!({ "command": format!("token={} ls", secret(number)) })).collect();
    let mut record = json!({ "junk": junk, "said": said, "nested": commands, "other": "said before" });
    mask_json(&mut record);
    assert_eq!(record["other"], "said before");
    for (field, expected) in [("junk", "token=[masked]"), ("said", "say [masked] twice")] {
        let wrong = record[field].as_array().unwrap().iter().find(|text| **text != expected);
        assert_eq!(wrong, None, "{field}");
    }
    assert_eq!(record["nested"][1_999]["command"], "token=[masked] ls");
}

/// A long secret is known by how it begins, and one that another begins with is no part of it.
#[test]
fn a_secret_is_masked_wherever_it_stands_again() {
    let long = "k3".repeat(200);
    let mut record = json!({
        "a": format!("token={long}"), "b": format!("({long}) and"), "c": "token=abc123", "d": "token=abc1234",
        "e": "x abc1234 abc123 abc12", "f": "token=schl\u{fc}ssel1 ", "g": "ein schl\u{fc}ssel1!",
    });
    mask_json(&mut record);
    assert_eq!(
        record,
        json!({
            "a": "token=[masked]", "b": "([masked] and", "c": "token=[masked]", "d": "token=[masked]",
            "e": "x [masked] [masked] abc12", "f": "token=[masked] ", "g": "ein [masked]!",
        })
    );
}
