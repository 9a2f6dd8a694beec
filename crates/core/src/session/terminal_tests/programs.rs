//! Programs that people use on terminals, driven by the tools alone.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::super::opening::Opening;
use super::*;

#[tokio::test]
async fn prompts_without_a_line_end_are_seen_and_answered() {
    let world = World::new();
    let toolset = terminals(&world);
    // As `ssh` and `sudo` ask: on the terminal itself, without an echo.
    let asks = "stty -echo; printf 'Password: ' >/dev/tty; read -r p </dev/tty; stty echo; echo; [ \"$p\" = sesame ] && echo welcome";
    start(&toolset, asks).await;
    until_shown(&toolset, "\nPassword:").await;
    write(&toolset, "sesame").await;
    let answered = until_shown(&toolset, "\nwelcome").await;
    assert!(!answered.contains("Password: sesame"), "{answered}");
}

#[tokio::test]
async fn drives_vim() {
    let world = World::new();
    let toolset = terminals(&world);
    start(&toolset, "vim -u NONE -N file.txt").await;
    until_shown(&toolset, "\"file.txt\" [New").await;
    press(&toolset, &["i"]).await;
    call(&toolset, "shell_write_to_process", json!({ "id": "s", "command": "hello\nwörld", "enter": false })).await;
    let typed = press(&toolset, &["escape"]).await;
    assert!(typed.text.contains("full-screen program"), "{}", typed.text);
    until_shown(&toolset, "wörld").await;
    let saved = finished(&toolset, write(&toolset, ":wq").await).await;
    assert!(saved.contains("--- COMMAND FINISHED (exit code 0) ---"), "{saved}");
    assert_eq!(fs::read_to_string(world.directory.path().join("file.txt")).unwrap(), "hello\nwörld\n");
}

/// `less` ran commands at keys that end no line, which nobody judged.
#[tokio::test]
async fn less_runs_no_commands() {
    let world = World::new();
    let toolset = terminals(&world);
    assert_eq!(exec(&toolset, "seq 1 100 > n; echo $LESSSECURE").await.text, "1");
    start(&toolset, "less n").await;
    until_shown(&toolset, "\n39\n").await;
    for key in ["!", "|", "v"] {
        press(&toolset, &[key]).await;
        until_shown(&toolset, "Command not available").await;
        // It waits for any key.
        press(&toolset, &["g"]).await;
        while screen(&toolset).await.text.contains("Command not available") {}
    }
    press(&toolset, &["q"]).await;
    // An application may want it otherwise.
    let env = [("LESSSECURE".to_owned(), "0".to_owned())].into();
    let options = CallOptions { opening: Opening { env: Some(env), ..Opening::default() }, ..CallOptions::default() };
    let asked = json!({ "id": "other", "command": "echo $LESSSECURE" });
    assert_eq!(toolset.call("shell_exec", asked, options).await.unwrap().text, "0");
}

#[tokio::test]
async fn drives_less() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "seq 1 1000 > n").await;
    start(&toolset, "less n").await;
    until_shown(&toolset, "\n39\n").await;
    press(&toolset, &["G"]).await;
    until_shown(&toolset, "\n1000\n").await;
    write(&toolset, "/^77$").await;
    press(&toolset, &["g"]).await;
    until_shown(&toolset, "\n1\n2\n").await;
    // It may still draw its last line; what it has shown once is not shown again.
    while call(&toolset, "shell_screen", json!({ "id": "s", "changes": true })).await.text != "[Nothing changed]" {}
    let left = press(&toolset, &["q"]).await;
    assert!(finished(&toolset, left).await.contains("COMMAND FINISHED (exit code 0)"));
    call(&toolset, "shell_resize", json!({ "id": "s", "columns": 60, "rows": 10 })).await;
    until_shown(&toolset, "[screen 60 x 10").await;
    assert_eq!(exec(&toolset, "stty size").await.text, "10 60");
}

#[tokio::test]
async fn drives_top() {
    let world = World::new();
    let toolset = terminals(&world);
    start(&toolset, "top -d 1").await;
    until_shown(&toolset, "PID USER").await;
    let left = press(&toolset, &["q"]).await;
    let left = finished(&toolset, left).await;
    assert!(left.contains("COMMAND FINISHED (exit code 0)"), "{left}");
}

#[tokio::test]
async fn drives_python() {
    let world = World::new();
    let toolset = terminals(&world);
    start(&toolset, "python3 -q").await;
    until_shown(&toolset, ">>>").await;
    write(&toolset, "x = 6 * 7").await;
    write(&toolset, "print('answer', x)").await;
    until_shown(&toolset, "answer 42").await;
    write(&toolset, "for i in range(2):").await;
    write(&toolset, "    print('row', i)").await;
    write(&toolset, "").await;
    until_shown(&toolset, "row 1").await;
    let left = press(&toolset, &["ctrl-d"]).await;
    let left = finished(&toolset, left).await;
    assert!(left.contains("COMMAND FINISHED (exit code 0)"), "{left}");
}

/// A program that uses `keypad` asks for the other form of the keys; three stray characters are what it got.
#[tokio::test]
async fn keys_of_the_cursor_reach_programs_that_draw_with_curses() {
    let world = World::new();
    let toolset = terminals(&world);
    let program = "import curses\n\
                   def main(window):\n    \
                       window.addstr('ready '); window.refresh()\n    \
                       keys = [curses.keyname(window.getch()).decode() for _ in range(5)]\n    \
                       window.addstr('got ' + ' '.join(keys)); window.getch()\n\
                   curses.wrapper(main)\n";
    fs::write(world.directory.path().join("keys.py"), program).unwrap();
    start(&toolset, "python3 keys.py").await;
    until_shown(&toolset, "ready").await;
    press(&toolset, &["up", "down", "end", "f11", "x"]).await;
    until_shown(&toolset, "got KEY_UP KEY_DOWN KEY_END KEY_F(11) x").await;
    let left = press(&toolset, &["q"]).await;
    assert!(finished(&toolset, left).await.contains("COMMAND FINISHED (exit code 0)"));
}

/// The lines of boxes were shown as letters.
#[tokio::test]
async fn lines_that_are_drawn_with_curses_are_lines() {
    let world = World::new();
    let toolset = terminals(&world);
    let program = "import curses, locale\n\
                   locale.setlocale(locale.LC_ALL, '')\n\
                   def main(window):\n    \
                       box = curses.newwin(3, 6, 1, 0); box.box(); box.addstr(1, 1, 'ok'); box.refresh(); box.getch()\n\
                   curses.wrapper(main)\n";
    fs::write(world.directory.path().join("box.py"), program).unwrap();
    start(&toolset, "LC_ALL=C.UTF-8 python3 box.py").await;
    until_shown(&toolset, "┌────┐\n│ok  │\n└────┘").await;
    let left = press(&toolset, &["q"]).await;
    assert!(finished(&toolset, left).await.contains("COMMAND FINISHED (exit code 0)"));
}

#[tokio::test]
async fn drives_node() {
    let world = World::new();
    let toolset = terminals(&world);
    start(&toolset, "node").await;
    until_shown(&toolset, "\n>").await;
    write(&toolset, "const x = 6 * 7").await;
    write(&toolset, "`answer ${x}`").await;
    until_shown(&toolset, "'answer 42'").await;
    let left = write(&toolset, ".exit").await;
    let left = finished(&toolset, left).await;
    assert!(left.contains("COMMAND FINISHED (exit code 0)"), "{left}");
}

#[tokio::test]
async fn drives_an_interactive_rebase() {
    let world = World::new();
    let toolset = terminals(&world);
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments).current_dir(world.directory.path());
        assert!(command.output().unwrap().status.success(), "{arguments:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    for name in ["one", "two", "three"] {
        fs::write(world.directory.path().join(name), name).unwrap();
        git(&["add", "."]);
        git(&["commit", "-q", "-m", name]);
    }
    let command =
        "git -c user.name=a -c user.email=a@b -c sequence.editor='vim -u NONE -N' -c core.editor=true rebase -i HEAD~2";
    start(&toolset, command).await;
    until_shown(&toolset, "pick").await;
    // The second line becomes a fixup of the first.
    press(&toolset, &["j", "c", "w"]).await;
    call(&toolset, "shell_write_to_process", json!({ "id": "s", "command": "fixup", "enter": false })).await;
    press(&toolset, &["escape"]).await;
    let rebased = finished(&toolset, write(&toolset, ":wq").await).await;
    assert!(rebased.contains("COMMAND FINISHED (exit code 0)"), "{rebased}");
    assert_eq!(exec(&toolset, "git log --format=%s | cat").await.text, "two\none");
}
