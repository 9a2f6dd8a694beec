//! The shells of terminal sessions: how each is started so that it marks its prompts and commands ([`super::marks`]), and how
//! a command is typed at it. Settings come by a pipe that the shell closes first of all; they are its own and reach no program.
//!
//! At the prompt of bash a return runs nothing: what was typed while a command ran, and not read by it, must not become a
//! command that nobody judged. It runs a line at a key that only the host presses ([`ACCEPT`]). The keys and functions of its
//! line editor that run something in another way, or that would take that key for text, are gone; so is the mode of vi that replaces, in
//! which a return runs the line whatever it is elsewhere.
//!
//! bash is told by its own means. A plain `sh` (dash, busybox) has no hook before a command and takes no paste, so that what
//! is typed at it is one line that says where the command begins, and holds the command as a text to evaluate.

use std::borrow::Cow;

/// 16 KiB are typed: the shell echoes every character. Longer is a script.
pub(super) const TYPED_BYTES: usize = 16 << 10;
/// 700 bytes of one line typed at a plain shell: the line editor of busybox takes 1,024 and loses the rest.
const LINE_BYTES: usize = 700;
/// The last words of the command line of our bash, and of any shell that a session begins with.
const BASH_WORDS: &[u8] = b"\0--rcfile\0/dev/fd/3\0-i\0";
const SHELL_WORDS: &[u8] = b"\0-i\0";
const PASTE_START: &str = "\x1b[200~";
const MARK: &str = "\x1b]133;";
const BELL: char = '\x07';
const PASTE_END: &str = "\x1b[201~";
/// The number of the next prompt, in bash; it may be below zero where the session set the last one. The first is another than that
/// behind an `unset` of it.
const NEXT: &str = "$((_gloveport=(10#0${_gloveport+${_gloveport//[^0-9]}}+1)%1000000007))";
/// `1` where prompts of bash expand what stands in them, and something else where they do not; its options are its own to set.
const EXPANDS: &str = "${BASHOPTS+${BASHOPTS/*promptvars*/1}}";
/// Ctrl-^: the first byte of the keys that only the host presses.
pub const HOST_KEY: u8 = 0x1E;
/// Runs the line at a prompt of bash.
const ACCEPT: &str = "\x1ea";
/// Lets a terminal go on that Ctrl-S stopped, leaves whatever a line editor of bash is in (a question, a search, a paste without an end, a
/// command mode) and deletes the line, wherever the cursor is.
const CLEAR: &str = "\x11\x07\x07\x1b[201~\x1ek\x1ek\x1ei";
/// The same at a plain shell, where a line is deleted up to the cursor.
const CLEAR_PLAIN: &str = "\x11\x15";

/// The command line that starts a shell whose marks carry `word`: bash, or where there is none a plain shell.
pub(super) fn start(word: &str) -> String {
    format!("if [ -x /bin/bash ]; then\n{}\nfi\n{}\n", start_bash(word), start_plain("/bin/sh", word))
}

/// The settings of the line editor are ours alone: a file of settings could bind any key. What bash takes for an end of input
/// ends it at the tenth time: an interrupt may look like one to it, see [`super::interrupt`].
///
/// The marks are texts in its prompts: no command, function, trace or redirection of the session's own changes what they say. Each
/// prompt has a number, so that one that is drawn again is no news.
///
/// The hook behind a command stands second in a list, so that a file of settings that sets the first leaves it alone, and marks
/// the prompts again where such a file set others. A bash older than 5.1 has no such list. Where the prompt goes nowhere, or expands
/// nothing (`shopt -u promptvars`) and so only says that it begins, the hook itself says how a command ended, on the terminal. It turns the
/// expansion of history off again where a command turned it on: lines are judged with `!` as a letter. It says nothing of itself where
/// commands are traced: traces go nowhere while it runs, and where nothing is traced nothing is sent elsewhere, which would cost more than
/// the rest of it. Nor does it look at each prompt where all of them are as it left them: a builtin tells, for behind a wrong `[[` bash
/// reads no `[[` in a hook. Of its variables, which the session can set, nothing but digits is taken for a number, and its key is one
/// (`00`, `0x0`): bash runs what stands in a subscript of a number.
fn start_bash(word: &str) -> String {
    format!(
        r#"[ -S /dev/fd/3 ] && exec 9<&3
exec /bin/bash --noprofile --rcfile /dev/fd/3 -i 3<<'{word}'
exec 3<&-
if [[ -S /dev/fd/9 ]] && ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then {{ exec {HATCH}<&10; }} 9<&- 2>/dev/null; fi
exec 9<&-
unset HISTFILE MAILCHECK
IGNOREEOF=9
_gloveport=99
set +H
{{
INPUTRC=/dev/null bind 'set enable-bracketed-paste on' 'set bell-style none'
bind 'set enable-active-region off'
for _m in emacs vi-insert vi-command; do
for _f in accept-line operate-and-get-next edit-and-execute-command vi-edit-and-execute-command \
execute-named-command shell-expand-line insert-comment vi-eof-maybe quoted-insert start-kbd-macro end-kbd-macro \
call-last-kbd-macro vi-redo vi-replace re-read-init-file; do bind -m $_m -u $_f; done
bind -m $_m '"\C-m": kill-whole-line' '"\C-j": kill-whole-line' '"\e[201~": kill-whole-line'
bind -m $_m '"\C-^a": accept-line' '"\C-^k": kill-whole-line' '"\C-^i": kill-whole-line'
done
bind -m vi-command '"\C-^i": vi-insertion-mode'
unset _m _f
declare -A _gloveport_to=([0x0]=-)
}} 2>/dev/null
_gloveport() {{
builtin set +H -- '\[\e]133;D;$?;{NEXT};{word}\a\]' '\[\e]133;B;{word}\a\]' "${{PS1-}}" "$1" '\[\e]133;A;{word}\a\]'
[[ {EXPANDS} == 1 ]] || builtin set -- "$5" "$2" "$3" "$4" "$1"
case $3 in "$1"*"$2") ;; *) PS1=${{3//"$1"}}; PS1=${{PS1//"$5"}}; PS1=$1${{PS1//"$2"}}$2 ;; esac
case ${{PS2-}} in '\[\e]133;P;{word}\a\]'*) ;; *) PS2='\[\e]133;P;{word}\a\]'${{PS2-}} ;; esac
case ${{PS0-}} in *'\e]133;C;{word}\a') ;; *) PS0=${{PS0-}}'\e]133;C;{word}\a' ;; esac
_gloveport_set=$PS1$PS2$PS0
[[ {EXPANDS} == 1 ]] || _gloveport_set=$1
[[ -t 3 && {EXPANDS} == 1 ]] || builtin printf '\e]133;D;%s;%s;{word}\a' "$4" {NEXT} >/dev/tty
}}
_gloveport_ended() {{ builtin return "$1"; }}
PS1='\$ '
PS2='> '
PROMPT_COMMAND=('' '{{ \builtin [ "${{-//[^H]}}:{EXPANDS}:${{PS1-}}${{PS2-}}${{PS0-}}" = ":1:${{_gloveport_set-}}" -a -t 3 -o -z "$((_gloveport_code=$?))" ] ||
_gloveport "$_gloveport_code" 2>/dev/null; }} 3>&2 2>&"${{_gloveport_to[0${{-//[^x]}}0]:-2}}"')
((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)) || PROMPT_COMMAND=("${{PROMPT_COMMAND[1]}}")
{word}"#
    )
}

/// 64 characters are read at once there: the seal of 16, five digits, and the command or its first 43 characters.
const HANDED_BYTES: usize = 64;
const FIRST_BYTES: usize = 43;
/// The descriptor of the hatch in bash: in nobody's way, and below a ceiling of 64.
const HATCH: u8 = 59;
/// Takes back the prompt that was shown, before another one is.
const REFUSED: &str = r"\builtin printf '\r\e[K' >/dev/tty";

/// What has bash read at its hatch in a loop.
pub(super) struct Serving {
    /// Is said there before, to be evaluated.
    pub(super) said: String,
    /// Is typed.
    pub(super) typed: String,
}

/// The line is short, and no part of it that is left where another program took the rest does anything: the loop comes by the hatch itself,
/// whole. It is no function, and kept in no variable that a session could set: what a command declares there is no variable of one.
///
/// It begins where the prompt is the one that it began with, and nothing else is to be done or said at a prompt: where no job is there and
/// commands are not traced, trapped or timed, nor end the shell where they fail (`set -e`); else it leaves the code of the last one as it
/// was, and traces nothing of that. The first `[[` behind a wrong one is wrong to bash too: that is one of no use. It takes the line that
/// was typed out of the history, says what its prompt shows and how the command before ended. What changed any of that since leaves the
/// loop, whose code is that of its last command, to the prompt; so does a number of nothing.
///
/// What a session makes of the variables in which a command comes (`declare -l`: `RM` is `rm`, `declare -n`: another one) is gone before
/// each, and where it parts words (`IFS`) changes no number. A code is told within the text that is evaluated: what a session has put in
/// the place of the function for it changes no command.
///
/// At each turn it looks whether its descriptor is the hatch, which has a `name` below `/proc`: no file, pipe or socket that a session put
/// there is told anything, or read. What is said there, by either side, begins with a `seal` that no variable holds: what a command says
/// there is no end of it, and hides none. The descriptor is closed in every program: a copy of one is that bash itself saved has that from
/// it.
pub(super) fn serve(word: &str, seal: &str, name: &str) -> Serving {
    let is_hatch = format!("/dev/fd/{HATCH} -ef /proc/{name}");
    let state = "${PS1-}:${PS0-}:${HISTIGNORE-}:${TMOUT-}:${PROMPT_COMMAND[0]-}:$-:${!-}:${#PROMPT_COMMAND[@]}";
    let count = "10#${_gloveport_said:16:5}";
    let told = r#"if [[ $_gloveport_code != 0 ]]; then _gloveport_ended "$_gloveport_code"; fi"#;
    let said = format!(
        r#"{seal}
if [[ ${{PS1-}} == '\[\e]133;D;$?;{NEXT};{word}\a\]\$ \[\e]133;B;{word}\a\]' && ${{PS0-}} == '\e]133;C;{word}\a' && $- != *[vx]* &&
-o history && -t 2 && {is_hatch} && -z ${{HISTIGNORE-}}${{TMOUT-}}${{PROMPT_COMMAND[0]-}} && ${{#PROMPT_COMMAND[@]}} == 2 &&
-z $(jobs; trap -p DEBUG RETURN ERR) ]] &&
builtin unset -n _gloveport_said _gloveport_line 2>/dev/null &&
builtin unset -v _gloveport_said _gloveport_line 2>/dev/null &&
builtin printf '{seal}P%s\n' "$((EUID == 0))" 2>/dev/null >&{HATCH}; then
builtin history -d -1 2>/dev/null
_gloveport_state={state}
{told}
while _gloveport_code=$?
[[ {state} == "$_gloveport_state" && -o history && -t 2 && {is_hatch} ]] &&
builtin printf '{seal}%s\n' "$_gloveport_code" >&{HATCH} &&
builtin unset -n _gloveport_said _gloveport_line && builtin unset -v _gloveport_said _gloveport_line &&
builtin read -r -N {HANDED_BYTES} -u {HATCH} _gloveport_said && [[ $_gloveport_said == {seal}* && ${{_gloveport_said:16:5}} != 00000 ]] &&
_gloveport_line=${{_gloveport_said:21:{count}}} &&
{{ (({count} <= {FIRST_BYTES})) || {{ builtin read -r -N "$(({count} - {FIRST_BYTES}))" -u {HATCH} _gloveport_said &&
_gloveport_line+=$_gloveport_said; }}; }} && builtin history -s -- "$_gloveport_line"; do
_gloveport_said=
if [[ $_gloveport_code != 0 ]]; then _gloveport_said="_gloveport_ended ${{_gloveport_code//[^0-9]}}"$'\n'; fi
builtin eval "$_gloveport_said$_gloveport_line"
done
else
{REFUSED}
{told}
fi"#
    );
    // A code that is told would end a shell that ends at errors, but where something hangs on it.
    let typed = format!(
        "{{ _gloveport_code=$?; if \\builtin [ -z \"${{-//[^e]}}\" -a {is_hatch} ] && \\builtin unset -n _gloveport_said 2>/dev/null && \
         \\builtin unset -v _gloveport_said 2>/dev/null && \
         \\builtin read -r -N {} -u {HATCH} _gloveport_said && \\builtin [ \"${{_gloveport_said:0:16}}\" = {seal} ]; then \
         \\builtin eval '[[ . ]]' 2>/dev/null || \\builtin true; \\builtin eval \"${{_gloveport_said:16}}\"; \
         else {REFUSED}; _gloveport_ended \"$_gloveport_code\" && \\builtin true; fi; }} \
         2>&\"${{_gloveport_to[0${{-//[^x]}}0]:-2}}\"",
        said.len()
    );
    Serving { said, typed }
}

/// `program` is the words of a plain shell. It marks itself as one (`N`), and its commands' ends where it prompts. Its function
/// marks the prompt again where a command set another, and ends with the code that it is given. It says that a command begins (`C`),
/// and where the prompt goes nowhere how one ended (`D`), on the terminal. busybox prompts where output goes, others where errors go.
pub(super) fn start_plain(program: &str, word: &str) -> String {
    format!(
        r#"ENV=/dev/fd/3
export ENV
exec {program} -i 3<<'{word}'
exec 3<&-
unset ENV MAILCHECK
HISTFILE=
case ${{BASH_VERSION-}} in ?*) set +H ;; esac
_{word}() {{
case $PS1 in "{MARK}D;\$?;{word}{BELL}"*"{MARK}B;{word}{BELL}") ;;
*) PS1="{MARK}D;\$?;{word}{BELL}{MARK}A;{word}{BELL}$PS1{MARK}B;{word}{BELL}" ;; esac
case ${{2-}} in
C) if command [ -t 3 ]; then command printf '\033]133;C;{word}\007' >&3
else command printf '\033]133;C;{word}\007' >/dev/tty; fi ;;
D) _{word}p ;;
esac || command printf '\033]133;D;%s;{word}\007\033]133;B;{word}\007' "$1" >/dev/tty
return "$1"
}}
case $(readlink /proc/$$/exe) in
*busybox*) _{word}p() {{ command [ -t 1 ]; }} ;;
*) _{word}p() {{ command [ -t 3 ]; }} ;;
esac
PS1='$ '
PS2='{MARK}P;{word}{BELL}> '
_{word} 0
printf '\033]133;N;{word}\007'
{word}"#
    )
}

/// Whether these are the words of a bash that has our keys.
pub(super) fn is_bash(words: &[u8]) -> bool {
    words.ends_with(BASH_WORDS)
}

/// Whether these are the words of a program that no session begins with.
pub(super) fn is_none(words: &[u8]) -> bool {
    !words.is_empty() && !words.ends_with(SHELL_WORDS)
}

/// What is said at the hatch to have `command` run, or nothing to leave the loop there.
pub(super) fn handed(command: &str, seal: &str) -> String {
    format!("{:<HANDED_BYTES$}", format!("{seal}{:05}{command}", command.len()))
}

/// What bash is given to run `command`. Of several lines a Ctrl-C ends the one that runs alone, and the shell goes on with the next: so they
/// are one text that it evaluates.
pub(super) fn whole(command: &str) -> Cow<'_, str> {
    if !command.contains('\n') {
        return Cow::Borrowed(command);
    }
    let mut text = String::with_capacity(command.len() + 16);
    text.push_str("eval $'");
    for character in command.chars() {
        match character {
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\'' | '\\' => text.extend(['\\', character]),
            _ => text.push(character),
        }
    }
    text.push('\'');
    Cow::Owned(text)
}

/// What is typed at bash to run `command`: a paste, which is literal up to its end, and the key that runs it.
pub(super) fn pasted(command: &str) -> String {
    format!("{PASTE_START}{command}{PASTE_END}{ACCEPT}")
}

/// What is typed before a command where something else may stand at the prompt.
pub(super) fn cleared(is_plain: bool) -> &'static str {
    if is_plain { CLEAR_PLAIN } else { CLEAR }
}

/// What a person typed at a prompt of bash, with the key that runs a line for each return. In a paste it is text.
pub(super) fn accepted(typed: &[u8]) -> Vec<u8> {
    if memchr::memmem::find(typed, PASTE_START.as_bytes()).is_some() {
        return typed.to_vec();
    }
    let mut keys = Vec::with_capacity(typed.len() + ACCEPT.len());
    for byte in typed {
        match byte {
            b'\r' | b'\n' => keys.extend_from_slice(ACCEPT.as_bytes()),
            _ => keys.push(*byte),
        }
    }
    keys
}

/// What is typed at a plain shell to run `command`, with the exit code of the one before in `$?` as ever. The shell joins lines
/// that end with a backslash.
pub(super) fn evaluated(command: &str, word: &str) -> String {
    let mut typed = format!("eval \"{{ _{word} $? C;}} 3>&2 2>/dev/null$(command printf '\\012");
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
    typed.push_str(&format!("')\";{{ _{word} $? D;}} 3>&2 2>/dev/null\r"));
    typed
}
