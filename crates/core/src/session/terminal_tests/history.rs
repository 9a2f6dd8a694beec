//! `!` and `^` at the prompt of a session: lines are judged with them as letters.

use super::super::running::Ran;
use super::super::shells::{start, start_plain};
use super::plain::{opened_by, said};
use super::*;

#[tokio::test]
async fn an_exclamation_mark_is_a_letter_also_behind_a_command_that_made_it_more() {
    let world = World::new();
    for (name, start) in [
        ("bash", &start as &dyn Fn(&str) -> String),
        ("a plain sh that is a bash", &|word: &str| start_plain("/bin/bash --posix", word)),
    ] {
        let (_sessions, session) = opened_by(&world, start).await;
        let said = said(&session, &["echo one", "echo a!e !!", "echo x\n^one^two^"]).await;
        assert_eq!(said[1], (Ran::Ended(0), "a!e !!\n".to_owned()), "{name}");
        assert!(said[2].1.starts_with("x\n") && said[2].1.contains("^one^two^"), "{name}: {:?}", said[2]);
    }
    let (_sessions, session) = opened_by(&world, start).await;
    let commands = ["set -H; false", "echo $? a!f", "set -o histexpand", "echo b!e", "echo $-"];
    let said = said(&session, &commands).await;
    assert_eq!(said[1], (Ran::Ended(0), "1 a!f\n".to_owned()));
    assert_eq!(said[3], (Ran::Ended(0), "b!e\n".to_owned()));
    assert!(!said[4].1.contains('H'), "{:?}", said[4]);
}
