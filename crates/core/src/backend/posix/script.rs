//! The text of every command. Everything that is not fixed goes through [`quote`].

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::run::Stat;
use crate::path::VirtualPath;

/// The exit codes by which a script says what was in the way; the tools themselves use small ones.
pub(super) const FAILED: i32 = 90;
pub(super) const GONE: i32 = 91;
pub(super) const TAKEN: i32 = 92;
pub(super) const NOT_A_FILE: i32 = 93;

/// `text` as one word of `sh`, whatever is in it: between single quotes nothing has a meaning but the quote itself.
pub(in crate::backend) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn path(path: &VirtualPath) -> String {
    quote(path.as_str())
}

/// Facts of one file: mode in hexadecimal digits, bytes, seconds of the last change, inode, seconds of the last change of
/// the inode. The name is `$f`.
fn facts(stat: Stat, follow: bool) -> String {
    let follow = if follow { "-L " } else { "" };
    match stat {
        Stat::Gnu => format!("stat {follow}-c '%f %s %Y %i %Z' \"$f\""),
        Stat::Bsd => format!("stat {follow}-f '%Xp %z %m %i %c' \"$f\""),
        Stat::Shell => "describe \"$f\"".to_owned(),
    }
}

/// Stands in for `stat` where there is none: kinds by `test`, sizes by counting, no times.
const DESCRIBE: &str = r#"describe() {
if [ -d "$1" ]; then printf '41ed 0 0 0 0\n'
elif [ -f "$1" ]; then s=$(wc -c <"$1") && printf '81a4 %s 0 0 0\n' "$((s))"
elif [ -e "$1" ]; then printf '1000 0 0 0 0\n'
elif [ -L "$1" ]; then printf 'a1ff 0 0 0 0\n'
fi; }
"#;

/// What is at a path (nothing is printed when nothing is), and on the following lines where that lies.
pub(super) fn stat(at: &VirtualPath, stat: Stat) -> String {
    let describe = if stat == Stat::Shell { DESCRIBE } else { "" };
    let (followed, itself) = (facts(stat, true), facts(stat, false));
    format!(
        "{describe}f={path}\nif [ -e \"$f\" ]; then d=$({followed}) && printf '%s\\n' \"$d\" && \
         {{ readlink -f \"$f\" || printf '%s\\n' \"$f\"; }}\n\
         elif [ -L \"$f\" ]; then d=$({itself}) && printf '%s\\n%s\\n' \"$d\" \"$f\"; fi\n:\n",
        path = path(at)
    )
}

/// The same of a file that is about to be read. Behind a NUL its content, where that is at most so many bytes and no link leads to
/// it: what lies elsewhere is judged before it is read.
pub(super) fn open(at: &VirtualPath, facts: Stat, bytes: usize) -> String {
    let more = bytes + 1;
    stat(at, facts)
        + &format!(
            "set -- ${{d:-}}\nif [ -f \"$f\" ] && [ -r \"$f\" ] && [ \"${{2:-{more}}}\" -le {bytes} ] && \
             [ \"$(readlink -f \"$f\" && printf .)\" = \"$f\n.\" ]; then printf '\\000'; head -c {more} \"$f\"; fi\n:\n"
        )
}

/// The entries of a directory: first each as it is, then, behind a line of two slashes, what each link leads to.
pub(super) fn list(directory: &VirtualPath, stat: Stat) -> String {
    let enter = format!("cd {} || exit {GONE}\n", path(directory));
    let (itself, followed) = match stat {
        Stat::Gnu => ("stat -c '%f %s %Y %i %Z %n' {} +".to_owned(), "stat -L -c '%f %s %Y %i %Z %n' {} +".to_owned()),
        Stat::Bsd => {
            ("stat -f '%Xp %z %m %i %c %N' {} +".to_owned(), "stat -L -f '%Xp %z %m %i %c %N' {} +".to_owned())
        }
        Stat::Shell => {
            let each = |body: &str| format!("sh -c {} sh {{}} +", quote(&format!("{DESCRIBE}for f do {body}; done")));
            let described = "d=$(describe \"$f\") && printf '%s %s\\n' \"$d\" \"$f\"";
            let link = "printf 'a1ff 0 0 0 0 %s\\n' \"$f\"";
            (
                each(&format!("if [ -L \"$f\" ]; then {link}; else {described}; fi")),
                each(&format!("if [ -e \"$f\" ]; then {described}; fi")),
            )
        }
    };
    format!(
        "{enter}find . ! -name . -prune -exec {itself}\nprintf '//\\n'\n\
         find . ! -name . -prune -type l -exec {followed}\n:\n"
    )
}

/// At most `bytes` bytes from `from` on.
pub(super) fn read(at: &VirtualPath, from: u64, bytes: u64) -> String {
    let file = path(at);
    let begin = from.saturating_add(1);
    format!(
        "[ -e {file} ] || exit {GONE}\n[ -f {file} ] || exit {NOT_A_FILE}\n[ -r {file} ] || exit {FAILED}\n\
         tail -c +{begin} {file} | head -c {bytes}\n"
    )
}

/// Whole files: for each its size on a line, and so many bytes; `-1` for one that cannot be read.
pub(super) fn read_several(files: &[(VirtualPath, u64)]) -> String {
    let mut script = "for f in".to_owned();
    for (file, _) in files {
        let _ = write!(script, " {}", path(file));
    }
    script
        + "\ndo if [ -f \"$f\" ] && [ -r \"$f\" ] && s=$(wc -c <\"$f\"); then s=$((s)); printf '%s\\n' \"$s\"; head -c \"$s\" \"$f\"\n\
         else printf '%s\\n' -1; fi; done\n"
}

/// A directory and its parents.
pub(super) fn make_parent(directory: &VirtualPath) -> String {
    format!("mkdir -p {} || exit {FAILED}\n", path(directory))
}

/// Bytes into a file, or to its end.
pub(super) fn put(file: &VirtualPath, bytes: &[u8], to_end: bool, base64: bool) -> String {
    let arrow = if to_end { ">>" } else { ">" };
    let file = path(file);
    if bytes.is_empty() {
        return format!(": {arrow}{file} || exit {FAILED}\n");
    }
    if base64 {
        return format!("printf %s '{}' | base64 -d {arrow}{file} || exit {FAILED}\n", STANDARD.encode(bytes));
    }
    let mut octal = String::with_capacity(bytes.len() * 4);
    for byte in bytes {
        let _ = write!(octal, "\\{byte:03o}");
    }
    format!("printf '{octal}' {arrow}{file} || exit {FAILED}\n")
}

/// A finished temporary file in the place of the file that it is to become.
pub(super) fn finish(temporary: &VirtualPath, file: &VirtualPath, size: usize, mode: Option<u32>) -> String {
    let (temporary, file) = (path(temporary), path(file));
    let mode = mode.map_or(String::new(), |mode| {
        // Not the bits that lend a user's or a group's rights. Then it becomes whose the file was, where this user may do that (as `ls`
        // says: `stat` is not everywhere): what is not one's own any more cannot be changed.
        format!(
            "chmod {:o} {temporary} || {{ rm -f {temporary}; exit {FAILED}; }}\n\
             o=$(ls -dn {file} 2>/dev/null | while read -r _ _ u g _; do echo \"$u:$g\"; done)\n\
             [ -z \"$o\" ] || chown -h \"$o\" {temporary} 2>/dev/null\n",
            mode & 0o777
        )
    });
    format!(
        "{}{mode}if [ -d {file} ]; then rm -f {temporary}; exit {NOT_A_FILE}; fi\n\
         mv -f {temporary} {file} || {{ rm -f {temporary}; exit {FAILED}; }}\n",
        check_size(&temporary, size)
    )
}

/// A gathered temporary file to the end of a file.
pub(super) fn add_to(temporary: &VirtualPath, file: &VirtualPath, size: usize) -> String {
    let (temporary, file) = (path(temporary), path(file));
    format!(
        "{}cat {temporary} >>{file} || {{ rm -f {temporary}; exit {FAILED}; }}\nrm -f {temporary}\n",
        check_size(&temporary, size)
    )
}

fn check_size(temporary: &str, size: usize) -> String {
    format!("[ \"$(($(wc -c <{temporary})))\" -eq {size} ] || {{ rm -f {temporary}; exit {FAILED}; }}\n")
}

pub(super) fn remove(at: &VirtualPath, recursive: bool) -> String {
    let file = path(at);
    let remove = if recursive {
        format!("rm -rf {file}")
    } else {
        format!("if [ -d {file} ] && [ ! -L {file} ]; then rmdir {file}; else rm -f {file}; fi")
    };
    format!("{remove} || exit {FAILED}\n{{ [ -e {file} ] || [ -L {file} ]; }} && exit {FAILED}\n:\n")
}

pub(super) fn rename(from: &VirtualPath, to: &VirtualPath) -> String {
    let (from, to) = (path(from), path(to));
    format!("{}mv {from} {to} || exit {FAILED}\n", check_free(&to))
}

/// A copy that appears whole.
pub(super) fn copy(from: &VirtualPath, temporary: &VirtualPath, to: &VirtualPath) -> String {
    let (from, temporary, to) = (path(from), path(temporary), path(to));
    format!(
        "{}cp -p {from} {temporary} && touch {temporary} && chmod ug-s {temporary} && mv {temporary} {to} || \
         {{ rm -f {temporary}; exit {FAILED}; }}\n",
        check_free(&to)
    )
}

fn check_free(to: &str) -> String {
    format!("{{ [ -e {to} ] || [ -L {to} ]; }} && exit {TAKEN}\n")
}

pub(super) fn forget(file: &VirtualPath) -> String {
    format!("rm -f {}\n", path(file))
}

/// `script` with its output as digits between two marks, followed by its exit code. The count of digits stands before them,
/// so that an answer that lost some on its way is never mistaken for a shorter one.
pub(super) fn framed(script: &str, mark: &str, base64: bool) -> String {
    let encode = if base64 { "base64" } else { "od -An -v -tx1" };
    format!(
        "LC_ALL=C; export LC_ALL; unset CDPATH\n\
         gloveport=$({{ ({script}) 2>/dev/null </dev/null; printf ' %s' \"$?\"; }} | {encode} | tr -d ' \\n')\n\
         printf '\\n%s %s\\n%s\\n%s\\n' 'begin-{mark}' \"${{#gloveport}}\" \"$gloveport\" 'end-{mark}'\n"
    )
}

/// The output of `script`, and behind it its exit code, in a file that only its user reads.
pub(super) fn into_file(script: &str, file: &str) -> String {
    format!("umask 077; set -C\n{{ ({script}) 2>/dev/null </dev/null; printf ' %s' \"$?\"; }} >{}\n", quote(file))
}

/// Which tools there are, a word each.
pub(super) const PROBE: &str = "LC_ALL=C; export LC_ALL\n\
    [ \"$(printf aGk= | base64 -d 2>/dev/null)\" = hi ] && [ \"$(printf hi | base64 2>/dev/null)\" = aGk= ] && echo gloveport-base64\n\
    case $(stat -c %f / 2>/dev/null) in 4*) echo gloveport-stat-gnu;; *) case $(stat -f %Xp / 2>/dev/null) in 4*) \
    echo gloveport-stat-bsd;; esac;; esac\necho gloveport-ready\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_is_one_word() {
        assert_eq!(quote("a"), "'a'");
        assert_eq!(quote("it's $HOME `id`\n-rf"), "'it'\\''s $HOME `id`\n-rf'");
        assert_eq!(quote(""), "''");
    }
}
