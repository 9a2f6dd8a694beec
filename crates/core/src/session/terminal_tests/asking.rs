//! Programs that ask for a line behind what they printed of it.

use std::time::Instant;

use super::*;

/// A call waited out its whole time for a program that had asked something, and said that it still ran.
#[tokio::test]
async fn a_command_that_asks_is_told_long_before_its_time_is_over() {
    for (command, answered) in [
        ("read -p 'Name: ' x; echo \"got $x\"", "got yes"),
        ("python3 -c \"print('got ' + input('? '))\"", "got yes"),
        ("printf 'begun\\nPassword: '; stty -echo; read x; stty echo; echo \"got $x\"", "got yes"),
        // As the event loops of Node and others wait.
        (
            "python3 -c \"import select; print('? ', end='', flush=True); p = select.epoll(); p.register(0, 1); p.poll(); print('got', input())\"",
            "got yes",
        ),
        ("touch f; rm -i f; [ -e f ] || echo gone", "gone"),
        // It reads when its question stands there for long.
        ("printf '%s ' on?; sleep 2.5; read x; echo \"got $x\"", "got yes"),
    ] {
        let world = World::new();
        let toolset = terminals(&world);
        exec(&toolset, "true").await;
        let begin = Instant::now();
        let asked = exec(&toolset, command).await;
        assert!(begin.elapsed() < Duration::from_secs(30), "{command}: {}", asked.text);
        assert!(asked.text.starts_with("The command waits for input in session 's'"), "{command}: {}", asked.text);
        assert!(asked.text.contains("`shell_write_to_process`"), "{command}: {}", asked.text);
        let data = asked.data.unwrap();
        assert_eq!(
            (&data["waitsForInput"], &data["running"], &data["timedOut"], &data["exitCode"]),
            (&json!(true), &json!(true), &json!(false), &Value::Null),
            "{command}"
        );
        let end = typed(&toolset, "yes").await;
        assert!(end.contains(answered) && end.ends_with("--- COMMAND FINISHED (exit code 0) ---"), "{command}: {end}");
    }
}

/// What reads its terminal behind whole lines, or draws its line on, may be at work.
#[tokio::test]
async fn a_command_that_only_may_be_asking_is_waited_for() {
    let dots = "(for i in 1 2 3 4 5 6 7 8; do printf .; sleep 0.7; done) & read x";
    for command in ["cat", "echo whole; cat", "printf '\\033[1mwhole\\n\\033[m'; cat", &format!("sh -c '{dots}'")] {
        let world = World::new();
        let toolset = terminals(&world);
        exec(&toolset, "true").await;
        let left = call(&toolset, "shell_exec", json!({ "id": "s", "command": command, "timeout": 4 })).await;
        assert!(left.text.starts_with("Command still runs after 4 s"), "{command}: {}", left.text);
        let data = left.data.unwrap();
        assert_eq!((&data["waitsForInput"], &data["timedOut"]), (&json!(false), &json!(true)), "{command}");
    }
}

#[tokio::test]
async fn half_a_line_of_a_command_that_reads_nothing_is_no_question() {
    let world = World::new();
    let toolset = terminals(&world);
    let ended = exec(&toolset, "printf half; sleep 3; echo x").await;
    assert_eq!(ended.text, "halfx");
    assert_eq!(ended.data.unwrap()["waitsForInput"], json!(false));
}

/// Of the second question nothing was said.
#[tokio::test]
async fn looks_tell_of_each_question_and_of_nothing_else() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    exec(&toolset, "read -p 'Name: ' x; read -p 'Age: ' y; cat").await;
    let mut look = write(&toolset, "Bob").await;
    let mut told = look.text.clone();
    while look.data.as_ref().unwrap()["waitsForInput"] == json!(false) {
        look = call(&toolset, "shell_view", json!({ "id": "s" })).await;
        told.push_str(&look.text);
    }
    assert!(told.contains("Age: "), "{told}");
    let again = call(&toolset, "shell_view", json!({ "id": "s" })).await;
    assert!(again.text.starts_with("[No new output]\nThe command waits for input."), "{}", again.text);
    // `cat` reads behind a whole line.
    let answered = write(&toolset, "7").await;
    assert_eq!(answered.data.unwrap()["waitsForInput"], json!(false), "{}", answered.text);
    let looked = call(&toolset, "shell_view", json!({ "id": "s" })).await;
    assert_eq!(looked.data.unwrap()["waitsForInput"], json!(false), "{}", looked.text);
}
