//! How an interactive shell is told from other programs: by what it does about signals.

const INTERRUPT: u32 = 2;
const QUIT: u32 = 3;
const TERMINATE: u32 = 15;
const CHILD: u32 = 17;
const TERMINAL_STOP: u32 = 20;

/// Whether it is an interactive shell by what `/proc/<pid>/status` says of it. Such a shell ignores the requests to quit and to end
/// and handles an interrupt, as POSIX has it (XCU `sh`, "Asynchronous Events"); while bash forks it blocks the request to end in
/// place of ignoring it. Whatever its traps make of the interrupt and the request to quit, it ignores being stopped from its terminal
/// and hears of its children. Where the file does not say so it is none.
pub fn is_interactive_shell(status: &[u8]) -> bool {
    let signals = |name: &[u8]| {
        let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(core::str::from_utf8(line).ok()?.trim(), 16).ok()
    };
    let [Some(blocked), Some(ignored), Some(handled)] =
        ["SigBlk:", "SigIgn:", "SigCgt:"].map(|name| signals(name.as_bytes()))
    else {
        return false;
    };
    let has = |set: u64, signal: u32| set & (1 << (signal - 1)) != 0;
    let hears_no_end = has(ignored, TERMINATE) || has(blocked, TERMINATE) && !has(handled, TERMINATE);
    let has_jobs = has(ignored, TERMINAL_STOP) && has(handled, CHILD);
    hears_no_end && (has_jobs || has(ignored, QUIT) && has(handled, INTERRUPT))
}

#[cfg(test)]
mod tests {
    use std::format;

    use super::*;

    #[test]
    fn tells_interactive_shells_from_what_ignores_a_request_to_end_for_reasons_of_its_own() {
        const NONE: &str = "0000000000000000";
        for (blocked, ignored, handled, expected, name) in [
            (NONE, "0000000000384004", "000000004b813efb", true, "bash -i"),
            ("0000000000014002", "0000000000380004", "000000004b813efb", true, "bash -i that forks"),
            (NONE, "0000000000284004", "0000000000010002", true, "dash -i, busybox sh -i"),
            (NONE, "0000000000384006", "000000004b813ef9", true, "bash -i, trap '' INT"),
            (NONE, "0000000000384000", "000000004b813eff", true, "bash -i, trap : QUIT"),
            (NONE, "0000000000284006", "0000000000010000", true, "dash -i, trap '' INT"),
            (NONE, NONE, "0000000000010002", false, "sh"),
            (NONE, "0000000000004000", NONE, false, "trap '' TERM"),
            (NONE, "0000000000004006", "0000000000010000", false, "trap '' TERM behind &"),
            ("0000000000004002", "0000000000000006", NONE, false, "what waits for signals behind &"),
            ("0000000000004000", "0000000000000004", "0000000000004002", false, "what blocks its handler for a moment"),
            (NONE, "0000000000384004", NONE, false, "its program, if it gave that on"),
            (NONE, "", "000000004b813efb", false, "nothing"),
        ] {
            let status = format!("Name:\tx\nSigBlk:\t{blocked}\nSigIgn:\t{ignored}\nSigCgt:\t{handled}\nCapInh:\t0\n");
            assert_eq!(is_interactive_shell(status.as_bytes()), expected, "{name}");
        }
        assert!(!is_interactive_shell(b""));
    }
}
