//! What shells read differently from each other, or from what a text looks like: nothing of it runs unasked.

use super::*;

/// Each was run by bash, dash or the shell of busybox, which ran `sudo` (or deleted what it must not).
const HIDDEN: &[&str] = &[
    // `esac` ends a `case` also before a pipe, and is a pattern behind `|` and `(` for some shells.
    "case x in esac|sudo ls\nx) ;; esac",
    "case x in x) true;; esac|sudo ls\nx) ;; esac",
    "case x in x) true;; esac|(sudo ls)\n;; esac",
    "f() case x in x) true;; esac|sudo ls\nx) ;; esac",
    "case y in y) echo $(case esac in a| esac ) sudo ls ;; esac) ;; esac",
    "case y in y) echo $(case esac in ( esac ) sudo ls ;; esac) ;; esac",
    "(case x in esac) | sudo ls",
    "case x in a b) sudo ls;; esac",
    "case x in a\n) sudo ls;; esac",
    // `#` behind the `|` of a regular expression begins no comment.
    "[[ a =~ x|#y ]]; sudo ls",
    "[[ a =~ |#y ]]; sudo ls",
    "time [[ a =~ x|#y ]]; sudo ls",
    "coproc [[ a =~ x|#y ]]; sudo ls",
    "! time -p [[ a =~ x|#y ]]; sudo ls",
    "[[ a =~ b|\\\n#c ]]; sudo ls",
    "if [[ aE =~ b|#c ]] || sudo ls\nthen\n:\nfi",
    // Within a substitution a line that begins like the end of a here-document ends it.
    "x=$(cat <<E\nE); sudo ls\nE\n)",
    "x=$(cat <<'E'\nfoo\nE); sudo ls #\nE\n)",
    "x=$(cat <<E\nEx) ; sudo ls\nE\n)",
    "x=$(cat <<-E\n\tE); sudo ls\n\tE\n)",
    "x=$(cat <<\"\"\n); sudo ls\n\n)",
    "x=$( (cat <<E\nE)); sudo ls\nE\n))",
    "{ x=$(cat <<E\nE); sudo ls; }\nE\n); }",
    "cat <(cat <<'E'\nfoo\nE ); sudo ls\nE\n)",
    // The parentheses of a sum are counted before what is in it is read.
    "echo $(( sudo $(wc -l <<E\n)\nE\n) ))",
    "echo $(( sudo $(true # )\n) ))",
    // Subscripts and assignments behind words of the shell.
    "declare -A a; time a[1 #]=x; sudo ls",
    "coproc a[1 #]=x; sudo ls",
    "time a[1 #]=x sudo ls",
    "time a[1 ;]=x sudo ls",
    "declare -A a; time -p a[1 #]=x; sudo ls",
    "time a+=x sudo ls",
    "coproc a+=x sudo ls; wait",
    // dash knows no `function`, and no `{name}` before a redirection.
    "function f case y in\nsudo ls\nx) ;; esac",
    "function f() case y in\nsudo ls\nx) ;; esac",
    "flock {x}>/dev/null sudo ls",
    "flock {abc}</dev/null sudo ls",
    "flock {x}\\\n>/dev/null sudo ls",
    // Continued lines are joined before a name ends.
    "x=ls; xy=sudo; $x\\\ny ls",
    "x=ls; xy=sudo; \"$x\\\ny\" ls",
    "x=a; rm -rf $x\\\nb/etc",
    "rm -rf \"$PWD\\\nx/home\"",
    ": $((IF\\\nS=1)); x=sudo1ls; $x",
    "mkdir 1; cp ls 1; : $((PAT\\\nH=1)); ls",
    "xy=$(cat f); echo $((x\\\ny))",
    "x=ls; cat <<E; $x ls\n${x\\\n:=sudo}\nE",
    // Parts of variables that an expansion sets.
    ": ${BASH_CMDS[ls]:=/tmp/evil/sudo}; ls -l",
    ": ${BASH_CMD\\\nS[ls]:=/tmp/evil/sudo}; ls",
    ": ${CDPATH[0]:=/}; cd etc; rm -rf x",
    ": ${CDPAT\\\nH:=/}; cd etc; rm -rf x",
    ": ${PROMPT_COMMAND[0]:=sudo ls}",
    ": ${PROMPT_COMMAND[0]=sudo ls}",
    ": ${PROMPT_COMMAN\\\nD:=sudo ls}",
    // What is one name for dash are two for bash.
    "rm -rf $'x\\x2fy/../../etc'",
    // No assignment.
    "x\"\"=ls; $x ls",
    "x''=ls; $x ls",
    // What is among the elements of an array runs, and so do its subscripts.
    "x=(a $(sudo ls))",
    "x=(a\n`sudo ls` b)",
    "x=([$(sudo ls)]=b)",
    "x=(['a[$(sudo ls)]']=b)",
    "x=(sudo ls); \"${x[@]}\"",
    "x=(sudo); $x ls",
    "x=('a[$(sudo ls)]'); echo $((x))",
    "x=('a[$(sudo ls)]'); (( x[0] > 1 ))",
    "x=(a); sudo ls",
    "x=(a) sudo ls",
    "x=(a # )\n); sudo ls",
    "x=(a; sudo ls)",
    "x=(a | sudo ls)",
    "x=(a (b)); sudo ls",
    "echo x=(a); sudo ls",
    "PATH=(/tmp/evil); ls",
    "declare -a IFS=(1); ls",
    "declare -A m; m=(a b); echo ${!m}",
    "echo ${!m[x]}",
    "echo ${!m@}",
    // `IFS` for more than one `read`.
    "IFS=x; read -r y < f",
    "IFS=x :; x=ls",
    "read() { x=sudo1ls; $x; }; IFS=1 read",
    "IFS=1 eval 'x=sudo1ls; $x'",
    "IFS=1 PATH=/tmp/evil read x",
    "x=sudo,ls; IFS=, Z=$($x) read y",
    "x=-c,sudo; IFS=, Z=$(sh $x) read y",
    "x=a/k,private/key; IFS=, Z=$(cat $x >o) read y",
    // `in` on a line of its own.
    "for x\nin 'a[$(sudo ls)]'; do echo $((x)); done",
];

#[test]
fn nothing_runs_unasked_that_shells_read_differently() {
    assert_eq!(allowed(HIDDEN), Vec::<&str>::new());
}

#[test]
fn what_only_looks_like_it_runs() {
    let harmless = [
        "case $1 in a|b) ls;; (c) ls;; *) ls;; esac | cat",
        "case x in\n  a | b)\n    ls\n    ;;\n\n  # a comment\n  c) ls ;;\nesac",
        "(case x in x) ls;; esac)",
        "echo $(case x in x) echo a;; esac)",
        "case x in esac",
        "[[ -f a ]] | cat",
        "x=$(cat <<'EOF'\nsome text\n  EOF is indented\nEOF\n)",
        "git commit -m \"$(cat <<'EOF'\nA title (with parentheses)\n\nBody\nEOF\n)\"",
        "cat <<EOF\nEOFx\nEOF",
        "echo $((1 + $(wc -l < a.txt)))",
        "function f { ls; }",
        "function f() {\n  ls\n}",
        "function f\n{\n  ls\n}",
        "exec {fd}>/tmp/log",
        "x=a; echo $x\\\n  b",
        "x=a; echo \"$x\\\n b\"",
        "echo ${a[0]}",
        "args=(--verbose -n 3); ls \"${args[@]}\"",
        "args=()\nargs+=(-a \"$x\")\nls ${args[*]}",
        "x=(\n  a  # one\n  'b c'\n  $(date)\n)\necho ${#x[@]}",
        "local_files=(*.ts); echo \"${local_files[0]}\"",
        "f() { local all=(a b); echo ${all[1]}; }; f",
        "for i in \"${!args[@]}\"; do echo \"$i\"; done",
        "while IFS= read -r line; do echo \"$line\"; done < a.txt",
        "IFS=, read -r a b <<< 'x,y'; echo \"$a\"",
        "for x\ndo ls; done",
        "for x in a b\ndo ls; done",
        "for x\nin a b\ndo ls; done",
        "x\"\"y=1 || ls",
        "x=\"\"; ls",
        "echo a\"\"b 'c''d'",
        "echo $'a\\tb'",
    ];
    assert_eq!(judged_otherwise(&harmless, Action::Allow), Vec::new());
}
