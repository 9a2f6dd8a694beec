//! Fork bombs: functions and loops that start more and more of themselves until the machine stands.

use std::collections::HashMap;

use crate::script::{RawCommand, Script, Word};

/// A function that runs itself, be it through others, into a pipe or in the background: it doubles until the machine
/// stands.
pub(super) fn fork_bomb(script: &Script) -> Option<&str> {
    let index_of: HashMap<&str, usize> =
        script.functions.iter().enumerate().map(|(index, function)| (function.name.as_str(), index)).collect();
    // For each function the ones that it calls, and whether that call doubles.
    let calls: Vec<Vec<(usize, bool)>> = script
        .functions
        .iter()
        .map(|function| {
            let body = script.commands.get(function.first..function.end.min(script.commands.len())).unwrap_or_default();
            body.iter()
                .filter_map(|command| {
                    let name = command.words.first().and_then(Word::literal)?;
                    let doubles = function.forks || command.piped_out || command.piped_in || command.background;
                    Some((*index_of.get(name.as_str())?, doubles))
                })
                .collect()
        })
        .collect();
    let circle = circles(&calls);
    let is_bomb =
        |index: usize| calls[index].iter().any(|(called, doubles)| *doubles && circle[*called] == circle[index]);
    (0..calls.len()).find(|index| is_bomb(*index)).map(|index| script.functions[index].name.as_str())
}

/// What a loop without an end starts in the background, where nothing in it waits.
pub(super) fn endless_forks(script: &Script) -> Option<String> {
    const PAUSES: [&str; 8] = ["break", "exit", "flock", "inotifywait", "read", "return", "sleep", "wait"];
    let name = |command: &RawCommand| command.words.first().and_then(Word::literal);
    script.loops.iter().filter(|one| one.forks && !one.counted).find_map(|one| {
        let condition = script.commands.get(one.first..one.body)?;
        let never_ends = matches!(condition, [command] if name(command).is_some_and(|name| matches!(name.as_str(), ":" | "true" | "false" | "1")));
        let body = script.commands.get(one.body..one.end)?;
        let waits = |command: &RawCommand| {
            !command.background && name(command).is_some_and(|name| PAUSES.contains(&name.as_str()))
        };
        if !never_ends || body.iter().any(waits) {
            return None;
        }
        body.iter().find_map(name)
    })
}

/// For each function the number of the circle that it is in: functions that reach each other have the same one. (Tarjan's
/// strongly connected components, without recursion; one pass, however many functions there are.) A function that calls
/// itself is a circle with its own number.
fn circles(calls: &[Vec<(usize, bool)>]) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let mut circle = vec![UNSEEN; calls.len()];
    let mut order = vec![UNSEEN; calls.len()];
    let mut lowest = vec![UNSEEN; calls.len()];
    let mut seen = 0;
    let mut open: Vec<usize> = Vec::new();
    // What is being looked at, with the number of its next call.
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in 0..calls.len() {
        if order[start] == UNSEEN {
            path.push((start, 0));
        }
        while let Some((at, next)) = path.pop() {
            if next == 0 {
                order[at] = seen;
                lowest[at] = seen;
                seen += 1;
                open.push(at);
            }
            if let Some((called, _)) = calls[at].get(next) {
                path.push((at, next + 1));
                if order[*called] == UNSEEN {
                    path.push((*called, 0));
                } else if circle[*called] == UNSEEN {
                    lowest[at] = lowest[at].min(order[*called]);
                }
                continue;
            }
            if lowest[at] == order[at] {
                while let Some(member) = open.pop() {
                    circle[member] = at;
                    if member == at {
                        break;
                    }
                }
            }
            if let Some((caller, _)) = path.last() {
                lowest[*caller] = lowest[*caller].min(lowest[at]);
            }
        }
    }
    circle
}

/// The well-known spelling that no shell even parses without its blanks.
pub(super) fn is_fork_bomb_text(text: &str) -> bool {
    const BOMB: &str = ":(){:|:&};:";
    text.contains(":|") && text.split_whitespace().collect::<String>().contains(BOMB)
}
