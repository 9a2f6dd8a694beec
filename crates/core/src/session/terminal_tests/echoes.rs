//! The echo of lines that end about where the screen does.

use super::*;

/// The prompt of a session, `$ `.
const PROMPT: usize = 2;

#[tokio::test]
async fn the_output_of_a_line_that_ends_at_an_edge_of_the_screen_is_whole_and_nothing_else() {
    let world = World::new();
    let toolset = terminals(&world);
    for columns in [120, 23] {
        exec(&toolset, "true").await;
        call(&toolset, "shell_resize", json!({ "id": "s", "columns": columns, "rows": 24 })).await;
        for rows in 1..=3 {
            for length in rows * columns - 3..=rows * columns + 3 {
                let text = "x".repeat(length - PROMPT - "echo ".len());
                // Two blanks at the edge, and a word behind it.
                let torn = format!("{}  {}", &text[..text.len() - 3], &text[..1]);
                for text in [text, torn] {
                    let command = format!("echo {text}");
                    assert_eq!(command.len(), length - PROMPT);
                    let expected = text.split_whitespace().collect::<Vec<_>>().join(" ");
                    assert_eq!(exec(&toolset, &command).await.text, expected, "{columns} {length}");
                }
                let blanks = " ".repeat(length - PROMPT - "true#".len());
                let nothing = exec(&toolset, &format!("true {blanks}")).await.text;
                assert_eq!(nothing, "Command executed successfully (no output).", "{columns} {length}");
            }
        }
    }
}

/// The line editor draws what is not ASCII in octal there.
#[tokio::test]
async fn the_echo_of_a_command_is_no_output_in_the_locale_c() {
    let world = World::new();
    let toolset = terminals(&world);
    for locale in ["C", "POSIX", "C.UTF-8"] {
        exec(&toolset, &format!("export LC_ALL={locale}")).await;
        for command in ["echo é全 && echo done", "for i in é全; do\necho $i\ndone && echo done"] {
            assert_eq!(exec(&toolset, command).await.text, "é全\ndone", "{locale}: {command}");
        }
        let long = "é全x".repeat(60);
        assert_eq!(exec(&toolset, &format!("echo {long}")).await.text, long, "{locale}");
    }
}
