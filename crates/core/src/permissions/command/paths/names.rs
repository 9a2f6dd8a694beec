//! Names that are partly known, and paths that are others in disguise.

use super::super::argument::{ANY_CHARACTER, ANY_NAME, ANYTHING};
use super::is_within;

/// `/proc/self/root` is `/`, for every process that a command can name.
pub(super) fn without_proc(mut path: String) -> String {
    while let Some((process, rest)) = path.strip_prefix("/proc/").and_then(|rest| rest.split_once('/')) {
        let is_process = matches!(process, "self" | "thread-self") || process.bytes().all(|byte| byte.is_ascii_digit());
        let rest = rest.strip_prefix("root").filter(|rest| is_process && (rest.is_empty() || rest.starts_with('/')));
        let Some(rest) = rest else { break };
        path = rest.to_owned();
    }
    path
}

/// Whether a name with the markers of [`super::argument`] may turn out to be `name`.
pub(in super::super) fn may_match(marked: &str, name: &str) -> bool {
    let marked: Vec<char> = marked.chars().collect();
    let mut states = vec![false; marked.len() + 1];
    let skip = |states: &mut [bool]| {
        for (index, character) in marked.iter().enumerate() {
            states[index + 1] |= states[index] && matches!(*character, ANY_NAME | ANYTHING);
        }
    };
    states[0] = true;
    skip(&mut states);
    for expected in name.chars() {
        let mut next = vec![false; states.len()];
        for (index, character) in marked.iter().enumerate().filter(|(index, _)| states[*index]) {
            match *character {
                ANY_NAME | ANYTHING => next[index] = true,
                ANY_CHARACTER => next[index + 1] = true,
                character => next[index + 1] |= character == expected,
            }
        }
        skip(&mut next);
        states = next;
    }
    states[marked.len()]
}

/// Whether `inner` may lie within `outer` or be it; either may hold markers.
pub(super) fn may_be_within(inner: &str, outer: &str) -> bool {
    let is_marked = |name: &str| name.contains([ANY_NAME, ANY_CHARACTER, ANYTHING]);
    if !is_marked(inner) && !is_marked(outer) {
        return is_within(inner, outer);
    }
    let segments = |path: &str| path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (inner, outer) = (segments(inner), segments(outer));
    outer.len() <= inner.len()
        && outer.iter().zip(&inner).all(|(outer, inner)| {
            outer == inner
                || (is_marked(outer) && may_match(outer, inner))
                || (is_marked(inner) && may_match(inner, outer))
        })
}
