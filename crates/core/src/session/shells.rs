//! The shells of terminal sessions: how each is started so that it marks its prompts and commands ([`super::marks`]), and how
//! a command is typed at it. Settings come by a pipe that the shell closes first of all; they are its own and reach no program.
//!
//! bash is told by its own means. A plain `sh` (dash, busybox) has no hook before a command and takes no paste, so that what
//! is typed at it is one line that says where the command begins, and holds the command as a text to evaluate.

/// 16 KiB are typed: the shell echoes every character. Longer is a script.
pub(super) const TYPED_BYTES: usize = 16 << 10;
/// 700 bytes of one line typed at a plain shell: the line editor of busybox takes 1,024 and loses the rest.
const LINE_BYTES: usize = 700;
const PASTE_START: &str = "\x1b[200~";
const MARK: &str = "\x1b]133;";
const BELL: char = '\x07';
const PASTE_END: &str = "\x1b[201~";

/// The command line that starts a shell whose marks carry `word`: bash, or where there is none a plain shell.
pub(super) fn start(word: &str) -> String {
    format!("if [ -x /bin/bash ]; then\n{}\nfi\n{}\n", start_bash(word), start_plain("/bin/sh", word))
}

/// The hook behind a command stands second in a list, so that a file of settings that sets the first leaves it alone, and marks
/// the prompt again where such a file set another. A bash older than 5.1 has no such list.
fn start_bash(word: &str) -> String {
    format!(
        r#"exec /bin/bash --noprofile --rcfile /dev/fd/3 -i 3<<'{word}'
exec 3<&-
unset HISTFILE MAILCHECK
set +H
bind 'set enable-bracketed-paste on' 'set bell-style none' 2>/dev/null
bind 'set enable-active-region off' 2>/dev/null
PS0='\e]133;C;{word}\a'
PS1='\[\e]133;A;{word}\a\]\$ \[\e]133;B;{word}\a\]'
PS2='\[\e]133;P;{word}\a\]> '
PROMPT_COMMAND=(: 'printf "\e]133;D;%s;{word}\a" "$?"; [[ $PS1 == *";B;{word}"* ]] || PS1="$PS1\[\e]133;B;{word}\a\]"')
((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)) || PROMPT_COMMAND=("${{PROMPT_COMMAND[1]}}")
{word}"#
    )
}

/// `program` is the words of a plain shell. It marks itself as one (`N`), and its commands' ends where it prompts. Its function
/// marks the prompt again where a command set another, and ends with the code that it is given.
pub(super) fn start_plain(program: &str, word: &str) -> String {
    format!(
        r#"ENV=/dev/fd/3
export ENV
exec {program} -i 3<<'{word}'
exec 3<&-
unset ENV MAILCHECK
HISTFILE=
_{word}() {{
case $PS1 in "{MARK}D;\$?;{word}{BELL}"*"{MARK}B;{word}{BELL}") ;;
*) PS1="{MARK}D;\$?;{word}{BELL}{MARK}A;{word}{BELL}$PS1{MARK}B;{word}{BELL}" ;; esac
return "$1"
}}
PS1='$ '
PS2='{MARK}P;{word}{BELL}> '
_{word} 0
printf '\033]133;N;{word}\007'
{word}"#
    )
}

/// What is typed at bash to run `command`: a paste, which is literal up to its end, and a return.
pub(super) fn pasted(command: &str) -> String {
    format!("{PASTE_START}{command}{PASTE_END}\r")
}

/// What is typed at a plain shell to run `command`, with the exit code of the one before in `$?` as ever. The shell joins lines
/// that end with a backslash.
pub(super) fn evaluated(command: &str, word: &str) -> String {
    let mut typed = format!("eval \"printf '\\033]133;C;{word}\\007';(exit $?)$(printf '\\012");
    let mut line = typed.len();
    for byte in command.bytes() {
        let written = match byte {
            b'%' => "%%".to_owned(),
            b'\'' | b'\\' | 0..=0x1F | 0x7F.. => format!("\\{byte:03o}"),
            _ => char::from(byte).to_string(),
        };
        if line + written.len() > LINE_BYTES {
            typed.push_str("'\\\r'");
            line = 0;
        }
        typed.push_str(&written);
        line += written.len();
    }
    typed.push_str(&format!("')\";_{word} $?\r"));
    typed
}
