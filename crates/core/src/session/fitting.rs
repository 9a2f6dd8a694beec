//! Which commands may be handed to bash at its [hatch](super::hatch) and not typed: those that are whole for sure, so that a prompt would
//! wait for no more of them, and that mean the same where a loop evaluates them. Of what is not sure it is neither: to type is always right,
//! only slower.

use crate::script::{NestedKind, RawCommand, Script, Word, parse};

/// Words of commands that say, change or see something else in a loop, or end it, that run what may do so, or that bash reads like no other
/// shell.
const TYPED_WORDS: [&str; 26] = [
    "_", "alias", "bg", "bind", "break", "continue", "coproc", "disown", "enable", "eval", "exec", "fc", "fg",
    "history", "jobs", "return", "select", "set", "shopt", "source", "suspend", "trap", "unalias", "unset", "wait",
    "TMOUT",
];
/// The other name of `source`, which as an argument is a directory.
const SOURCE: &str = ".";
const TYPED_BEGINS: [&str; 8] = ["BASH", "COMP", "HIST", "LINENO", "PIPESTATUS", "PROMPT", "PS", "_gloveport"];
/// What stands between two words of a test (`[[ … ]]`).
const COMPARISONS: [&str; 13] = ["=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

/// Whether a command means the same in the loop as at a prompt, and is whole for sure. Of several lines all is evaluated wherever they are
/// run.
pub(super) fn fits(command: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n');
    if !command.bytes().all(is_plain) || command.trim().is_empty() {
        return false;
    }
    let mut words = command.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let is_typed = |word: &str| TYPED_WORDS.contains(&word) || TYPED_BEGINS.iter().any(|begin| word.starts_with(begin));
    !words.any(is_typed)
        && if command.contains('\n') { !sources(&parse(command, NestedKind::Script)) } else { is_whole(command) }
}

/// Words by which a session has bash run something within the loop itself, between what it reads there and what it evaluates.
const LEADING_WORDS: [&str; 5] = ["alias", "BASH_ALIASES", "builtin", "enable", "trap"];

/// Whether a text may have bash run something of the session's at each step of the loop, or say what stands in its variables. However it
/// is quoted: it may be evaluated.
pub(super) fn leads_the_loop(text: &str) -> bool {
    let text = text.replace(['\'', '"', '\\'], "");
    let mut words = text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    words.any(|word| LEADING_WORDS.contains(&word) || word.starts_with("_gloveport"))
}

/// Whether a file of commands is read, also behind words that only say how.
fn sources(script: &Script) -> bool {
    let is_source = |command: &RawCommand| {
        let mut words = command.words.iter().map(Word::plain);
        words.find(|word| !matches!(word, Some("builtin" | "command" | "-p" | "--"))) == Some(Some(SOURCE))
    };
    script.commands.iter().any(is_source)
}

/// Whether a line is whole for sure, runs anything, and neither defines a function nor has a job that goes on behind it; and what stands in
/// its back-quotes likewise.
fn is_whole(line: &str) -> bool {
    let mut texts = vec![line.to_owned()];
    while let Some(text) = texts.pop() {
        let script = parse(&text, NestedKind::Script);
        if !is_sure(&script) {
            return false;
        }
        texts.extend(script.nested.into_iter().map(|nested| nested.text));
    }
    true
}

fn is_sure(script: &Script) -> bool {
    let Script { commands, functions, bodies, constructs, goes_on, error, .. } = script;
    let is_understood = error.is_none() && !goes_on && !constructs.dollar_quotes;
    // A line without any leaves the code of the last one as it was.
    let runs = !commands.is_empty() && functions.is_empty() && bodies.is_empty() && !constructs.background;
    is_understood && runs && !sources(script) && closes_tests(commands)
}

/// Whether every `[[` among these commands has its `]]`, and what stands between is plain. The parser takes both for words, and parts
/// them at `&&` and `||`.
fn closes_tests(commands: &[RawCommand]) -> bool {
    // The shells that are in one, the innermost last.
    let mut open = Vec::new();
    for command in commands {
        let goes_on = open.last() == Some(&command.shell);
        let words: Vec<Option<&str>> = command.words.iter().map(Word::plain).collect();
        let inner = match words.as_slice() {
            words if goes_on => words,
            [Some("[["), words @ ..] => words,
            words if words.contains(&Some("[[")) => return false,
            _ => continue,
        };
        if goes_on && !command.joined && !command.optional {
            return false;
        }
        let (inner, is_closed) = match inner {
            [inner @ .., Some("]]")] => (inner, true),
            inner => (inner, false),
        };
        if !command.assignments.is_empty() || !command.redirects.is_empty() || !is_test(inner) {
            return false;
        }
        match (goes_on, is_closed) {
            (true, true) => drop(open.pop()),
            (false, false) => open.push(command.shell),
            (true, false) | (false, true) => {}
        }
    }
    open.is_empty()
}

/// Whether these words are a test of one word or two, as bash surely reads them.
fn is_test(mut words: &[Option<&str>]) -> bool {
    while let [Some("!"), rest @ ..] = words {
        words = rest;
    }
    let is_operator = |word: &str| word.len() == 2 && word.starts_with('-');
    match words {
        [one] => !matches!(one, Some("[[" | "]]")),
        [Some(operator), one] => is_operator(operator) && !matches!(one, Some("[[" | "]]")),
        [one, Some(operator), other] => {
            COMPARISONS.contains(operator) && ![one, other].iter().any(|word| matches!(word, Some("[[" | "]]")))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    use super::*;

    const FITTING: [&str; 48] = [
        "true",
        "cd a && make -j4; echo \"$x $(date +%s) `id -u`\" | tee out >&2",
        "echo 'it''s' \"${a:-b c}\" $((1 + 2)) a\\ b 2>&1 &>all",
        "( cd a; ls ) || x=(1 2)",
        "for i in 1 2\ndo\n\techo $i\ndone",
        "if true; then echo; fi",
        "if a; then b; elif c; then d; else e; fi > x 2>&1",
        "if [[ -f x && ! -d y || $z == a* ]]; then echo yes; fi",
        "for i in 1 2 3; do echo $i; done | sort",
        "for f in *.c; do case $f in a*) cc $f ;; b|c) ;; *) echo ;; esac; done",
        "for ((i = 0; i < 3; i++)); do echo $i; done",
        "while read -r x; do echo \"$x\"; done < f",
        "until ! a; do b; done",
        "case $x in a) b ;; (c|d) e ;& *) f; esac",
        "{ a; b; } > out",
        "(( x = 1 + 2 ))",
        "((x++)) || true",
        "[[ a ]]",
        "[[ -n $x ]] && echo",
        "[[ $x =~ ^[a-z]+$ ]]",
        "[[ $(a) == \"$(b)\" && -e `c` ]] || { d; }",
        "! [[ a -nt b ]]",
        "true # it's",
        "(true) #)",
        "a # \\",
        "a#b # \"",
        "grep 'foo$' a",
        "echo \"$'\" '$\"' '<<' '$['",
        "sort <<< text",
        "echo $((1 << 2))",
        "a=() b[1]=2 c[d[0]]=$e",
        "a+=(x \"$y\")",
        "declare -a a=(1)",
        "echo a[ [ ] [[]",
        "[ -f x ] && b",
        "time make",
        "! a | ! b",
        "a |& b",
        "cat <(a; b) > >(c)",
        "echo \"`a \"b\"`\" $(case x in x) a;; esac)",
        "echo if { for done }",
        "x=1 y=2 > f a 2> >(b)",
        "echo ${x:-$(a)} ${#x} ${x##*/} ${x/a/b} ${x[@]}",
        "echo $# $? $$ $! $@ $",
        "a; b;",
        "echo !! ! !x",
        "ls . && cd . ; find . -name x",
        "cd .\nls .",
    ];

    #[test]
    fn a_text_leads_the_loop_by_a_trap_an_alias_or_a_function_in_place_of_what_it_runs() {
        for text in
            ["trap x DEBUG", "eval 'tr''ap x USR1'", "a; alias b=c", "builtin() { a; }", "x=_gloveport_ended", "tr\\ap"]
        {
            assert!(leads_the_loop(text), "{text}");
        }
        for text in ["echo traps", "eval a", "./builtin_x; f() { a; }", "ls"] {
            assert!(!leads_the_loop(text), "{text}");
        }
    }

    #[test]
    fn a_command_fits_that_is_whole_for_sure_and_means_the_same_in_a_loop() {
        for command in FITTING {
            assert!(fits(command), "{command}");
        }
        for command in [
            "eval x",
            "source x",
            ". ./x",
            "true && . x",
            "command -p . x",
            "if a; then . x; fi",
            "true\n. x",
            "",
            " ",
            "# a",
            "if true",
            "if true; then",
            "if true; then echo",
            "if true; then echo; else",
            "then",
            "for x in a",
            "for x",
            "for x in a; do",
            "for x in a; do b",
            "for x in a; do b; done &",
            "for ((;;))",
            "while a",
            "while a; do b; don",
            "case x in",
            "case x",
            "case x in a) b",
            "case x in a) b;;",
            "{ a",
            "{ a }",
            "{ a; } &",
            "((1",
            "((1)",
            "(a",
            "echo 'a",
            "echo \"a",
            "echo `a",
            "echo $(a",
            "echo ${a",
            "echo \"${a\"",
            "echo $((1)",
            "true &&",
            "true && # a",
            "true ||",
            "true | ",
            "true |&",
            "{ a; } |",
            "(a) &&",
            "! [[ a ]] &&",
            "! true |",
            "echo a\\",
            "cat << E",
            "cat <<- E; a",
            "echo $(cat << E)",
            "f()",
            "f ( )",
            "f() { true; }",
            "function f",
            "function f { a; }",
            "a() (b)",
            "(true # )",
            "a=(1 # )",
            "a=$'\\''",
            "a=$'b'",
            "a=$\"b\"",
            "echo `a $'b'`",
            "echo $[1]",
            "[[ a",
            "[[ a &&",
            "[[ a && b",
            "[[ -n",
            "[[ a == b",
            "[[ a # ]]",
            "[[ ( a ) ]]",
            "[[ a =~ (b) ]]",
            "[[ a =~ b|c ]]",
            "[[ a; b ]]",
            "time [[ a",
            "[[ a && $([[ b) ]]",
            "a[",
            "a[1",
            "a[[]",
            "a[[1]",
            "x=1 a[",
            "> f a[",
            "a[0]=1 b[",
            "time a[0]=1 b[",
            ">&-a[",
            "time a[",
            "! a[",
            "a[1 + 2]=3",
            "a=([",
            "a=(",
            "a=(1",
            "a+=(",
            "declare a=(",
            "echo a=(",
            "sleep 9 &",
            "sleep 9 & true",
            "(sleep 9 &)",
            "echo $(sleep 9 &)",
            "echo `sleep 9 &`",
            "echo `echo \\`sleep 9 &\\``",
            "echo é",
            "echo \u{1b}",
            "trap x EXIT",
            "echo $_",
            "echo ${PIPESTATUS[0]}",
            "PS1=x",
            "set -x",
            "history",
            "fg",
            "_gloveport=1",
            ")",
            "a )",
            "exec 2>/dev/null",
            "a; history\nb",
            "for x in a; do break; done",
            "coproc a",
            "select x in a; do b; done",
            "time if",
            "time {",
            "coproc if",
            "echo @(",
            "echo @(a)",
            "echo ${ a; }",
            "${x",
            "$(",
            "echo &&",
            "a `",
            "a \\",
        ] {
            assert!(!fits(command), "{command}");
        }
    }

    /// What bash says of each of these lines, which it reads and does not run.
    fn told(lines: &[String]) -> Vec<String> {
        const ASK: &str = r#"while IFS= read -r -d '' line; do (eval $'set -n\n'"$line") 2>&1; printf '\0'; done"#;
        let mut bash = Command::new("/bin/bash");
        let mut bash = bash.args(["-c", ASK]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let asked: String = lines.iter().map(|line| format!("{line}\0")).collect();
        let mut stdin = bash.stdin.take().unwrap();
        let writer = std::thread::spawn(move || stdin.write_all(asked.as_bytes()).unwrap());
        let said = String::from_utf8(bash.wait_with_output().unwrap().stdout).unwrap();
        writer.join().unwrap();
        let told: Vec<String> = said.split_terminator('\0').map(str::to_owned).collect();
        assert_eq!(told.len(), lines.len());
        told
    }

    /// Of which lines that fit bash says that they go on.
    fn going_on(lines: impl IntoIterator<Item = String>) -> Vec<(String, String)> {
        // A text that ends with a backslash is complained of by nobody.
        let is_continued = |line: &str| {
            let before = line.trim_end_matches('\\');
            (line.len() - before.len()) % 2 == 1 && !before.contains('#')
        };
        let goes_on = |(line, said): &(String, String)| {
            is_continued(line)
                || ["unexpected end of file", "unexpected EOF", "here-document"].iter().any(|end| said.contains(end))
        };
        let lines: Vec<String> = lines.into_iter().filter(|line| !line.contains('\n') && fits(line)).collect();
        let told = told(&lines);
        lines.into_iter().zip(told).filter(goes_on).collect()
    }

    #[test]
    fn bash_says_of_a_line_that_it_goes_on_and_of_none_that_fits() {
        let going = ["a &&", "a[", "if b", "echo 'c", "d <<E", "[[ e &&", "f=("].map(str::to_owned);
        let said = told(&going);
        assert!(
            said.iter()
                .all(|said| said.contains("end of file") || said.contains("EOF") || said.contains("here-document")),
            "{said:?}"
        );
        let shorter = FITTING.iter().flat_map(|line| {
            let cut = (0..=line.len()).map(|end| line[..end].to_owned());
            cut.chain((0..line.len()).map(|at| format!("{}{}", &line[..at], &line[at + 1..])))
        });
        assert_eq!(going_on(shorter), []);
    }

    const PARTS: [&str; 76] = [
        "a", " ", " ", " ", "'", "\"", "`", "$(", "(", ")", "${", "}", "$((", "))", "((", "|", "&&", "||", ";", ";;",
        "\\", "#", " # ", "<", ">", "&", "{", "{ ", "; }", "=(", "=", "x", "$", "!", "! ", "<<<", "<<", ">&", "&>",
        "1", "[", "]", "[[", "[[ ", " ]]", "a[", " == ", " =~ ", " -n ", "if ", "; then ", "; fi", " else ", "elif ",
        "for ", "x in ", "for ((", "; do ", "; done", "while ", "until ", "case ", "a) ", ";; esac", "esac", " in ",
        "time ", "@(", "?(", "<(", ">(", "-", ",", "$'", "$\"", "declare ",
    ];

    fn line() -> impl Strategy<Value = String> {
        let random = prop::collection::vec(select(&PARTS[..]), 1..14).prop_map(|parts| parts.concat());
        let changes = prop::collection::vec((any::<Index>(), any::<Index>(), 0_usize..3), 1..4);
        let changed = (select(&FITTING[..]), changes).prop_map(|(line, changes)| {
            let mut line = line.to_owned();
            for (at, part, removed) in changes {
                let at = at.index(line.len() + 1);
                let end = (at + removed).min(line.len());
                line.replace_range(at..end, PARTS[part.index(PARTS.len())]);
            }
            line
        });
        prop_oneof![random, changed]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn bash_wants_no_more_of_a_random_line_that_fits(lines in prop::collection::vec(line(), 200)) {
            prop_assert_eq!(going_on(lines), []);
        }
    }
}
