//! What full-screen programs draw: shown as a screen while it is there, and no output behind that.

use super::*;

/// A page of blanks and tildes came as the output of an editor that had ended before anybody looked.
#[tokio::test]
async fn what_was_drawn_on_a_screen_that_is_gone_is_no_output() {
    let world = World::new();
    let toolset = terminals(&world);
    for (printed, expected) in [
        (r"before\n\033[?1049h\033[2J\033[HDRAWN\033[5;1H~\033[?1049lbehind\n", "before\nbehind"),
        (r"\033[?47hDRAWN\033[?47l1\033[?25;1049hDRAWN\033c2", "12"),
        // A program that is killed leaves its screen there, and nobody knows where its part ends.
        (r"before\n\033[?1049hDRAWN\nbehind", "before\nDRAWN\nbehind"),
        // One that leaves a screen that was not there.
        (r"kept\033[?1049l too", "kept too"),
        (r"\033[?1049kept", "ept"),
    ] {
        assert_eq!(exec(&toolset, &format!("printf '{printed}'")).await.text, expected, "{printed}");
        exec(&toolset, r"printf '\033[?1049l'").await;
    }
    assert_eq!(exec(&toolset, "echo after").await.text, "after");
}

#[tokio::test]
async fn a_screen_is_shown_while_it_is_there_and_what_comes_behind_it_alone_when_it_is_gone() {
    let world = World::new();
    let toolset = terminals(&world);
    start(
        &toolset,
        r"printf '\033[?1049h\033[2J\033[HDRA''WN'; read x; printf '\033[2;1HMORE\033[?1049l'; echo behind",
    )
    .await;
    until_shown(&toolset, "DRAWN").await;
    let looked = call(&toolset, "shell_view", json!({ "id": "s" })).await;
    assert_eq!(looked.data.as_ref().unwrap()["fullScreen"], json!(true));
    assert!(looked.text.contains("DRAWN"), "{}", looked.text);
    let ended = write(&toolset, "").await;
    let ended = finished(&toolset, ended).await;
    assert!(ended.starts_with("behind\n--- COMMAND FINISHED"), "{ended}");
}
