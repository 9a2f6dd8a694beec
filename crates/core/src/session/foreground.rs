//! Who waits for what is typed at a terminal: asked of the kernel, to which no program can lie.
//!
//! A process that sleeps in a call that waits for input is known by the call's number and descriptors (`/proc/<pid>/syscall`);
//! that one of them is the terminal, by its device. Where a kernel tells nobody, nobody is known to wait.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::{
    Alone, edits_a_line, has_stopped_child, listens_for_input, may_prompt, reads_a_line, waits_for_input,
};
#[cfg(target_os = "linux")]
pub(super) use linux::{
    Alone, edits_a_line, has_stopped_child, listens_for_input, may_prompt, reads_a_line, waits_for_input,
};

/// Whether a program waits for what is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no other system tells"))]
pub(super) enum Waits {
    /// Until something is typed.
    On,
    /// For a time, behind which it goes on: vim waits so for what a terminal may still say, and then ends.
    ForATime,
    /// Not, or that cannot be known.
    No,
}

/// Whether what the leader prints as errors goes to a terminal: so do a shell's prompts.
pub(super) fn shows_prompts(leader: u32) -> bool {
    std::fs::read_link(format!("/proc/{leader}/fd/2")).is_ok_and(|errors| errors.starts_with("/dev/pts"))
}

/// The words that the program of the leader was started with, each with a NUL behind it; none where that cannot be known.
pub(super) fn words_of(leader: u32) -> Vec<u8> {
    std::fs::read(format!("/proc/{leader}/cmdline")).unwrap_or_default()
}
