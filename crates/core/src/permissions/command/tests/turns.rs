//! Loops over known words, texts that substitutions print, and pipes with names.

use super::*;

const HARMLESS: &[&str] = &[
    "for d in a b; do rm -rf $d; done",
    "for d in dist 'my build'; do rm -rf \"$d\" && mkdir \"$d\"; done",
    "for d in {a,b}; do rm -rf \"$d\"; done",
    "for f in a b; do sort \"$f\" > \"$f.sorted\"; done",
    "for f in a b; do sed -i 's/x/y/' $f; done",
    "for a in x y; do for b in 1 2; do rm -rf \"$a/$b\"; done; done",
    "for f in a b; do if [ -f $f ]; then bash $f.sh; fi; done",
    "while read -r line; do echo \"$line\"; done < <(git ls-files)",
    // Patterns for names of files.
    "for f in src/*.md; do sed -i 's/a/b/' \"$f\"; done",
    "for f in *.o build/*.o; do rm -f \"$f\"; done",
    "for f in src/*.js; do node --check \"$f\"; done",
    "for f in tests/*.sh; do bash \"$f\" || echo \"$f failed\"; done",
    "for d in build-?/ out[0-9]; do rm -rf \"$d\"; done",
    "for f in src/*.md; do mv \"$f\" \"$f.bak\"; done",
    "sort < <(git ls-files)",
    // Each turn leads on from where the one before did.
    "for d in a b; do (cd $d && make); done",
    "for d in a b/c; do cd \"$d\" || exit 1; make; done; true",
    "for d in packages/a packages/b; do (cd \"$d\" && npm test) || exit 1; done",
    "for d in /w/a /w/b; do cd $d && make; done",
    "for d in a b; do pushd $d && make; popd; done",
    "for d in /w/a /w/b; do cd $d && rm -rf x *.o; done",
];

const STOPPED: &[&str] = &[
    // What they are known to be.
    "for d in a /; do rm -rf $d; done",
    "for d in /*; do rm -rf \"$d\"; done",
    "for f in *; do find . -name \"$f\" -delete; done",
    "find . -name * -delete",
    "for d in *; do rm -rf \"/$d\"; done",
    "for d in /et?; do rm -rf \"$d\"; done",
    "for d in ../*/; do rm -rf \"$d\"; done",
    "for f in *.o; do rm -f $f; done",
    "for f in *; do sed -i s/a/b/ \"$f\"; done",
    "for f in *; do $f x; done; for f in *; do \"$f\" x; done",
    "for f in $'\\x01'; do rm -rf \"/$f\"; done",
    "for f in *.md; do bash -c \"x $f\"; done",
    "for f in a*; do awk -f \"$f\" x; sudo \"$f\"; done",
    "for f in *; do f=/etc; rm -rf \"$f\"; done",
    "for f in /dev/sd*; do cat x > \"$f\"; done",
    "for d in a /etc; do rm -rf \"$d\"; done",
    "for a in / x; do for b in etc y; do rm -rf \"$a$b\"; done; done",
    "for s in 'sudo ls' x; do sh -c \"$s\"; done",
    "for s in sudo x; do timeout 5 $s ls; done",
    "for f in sda x; do dd if=x of=/dev/$f; done",
    "for f in sda x; do cat x > /dev/$f; done",
    "for x in '' a; do timeout $x 5 sudo ls; done",
    // What else gives the variable something.
    "for d in a; do d=/etc; rm -rf $d; done",
    "for d in a; do read d < f; rm -rf $d; done",
    "for d in a; do read -r d; rm -rf $d; done < f",
    "for d in a; do for d in $(cat f); do rm -rf $d; done; done",
    "for d in a; do printf -v d /etc; rm -rf $d; done",
    "for d in a; do mapfile d < f; rm -rf $d; done",
    "for d in a; do export d=/etc; rm -rf $d; done",
    "for d in a; do declare d=/etc; rm -rf $d; done",
    "declare -n e=d; for d in a; do e=/etc; rm -rf $d; done",
    "for d in a; do unset d; : ${d=/etc}; rm -rf $d; done",
    "for d in a; do unset d; rm -rf $d/etc; done",
    "for d in a; do eval 'd=/etc'; rm -rf $d; done",
    "for d in a; do . ./f; rm -rf $d; done",
    "for d in a; do let d=x; rm -rf $d; done",
    "for d in a; do rm -rf $d; (( d = 1 )); done",
    "for d in a; do getopts x d; rm -rf $d; done",
    "for d in a; do exec {d}<f; rm -rf $d; done",
    "readonly d=/etc; for d in a; do rm -rf $d; done",
    "trap 'd=/etc' DEBUG; for d in a; do rm -rf $d; done",
    "g() { d=/etc; }; for d in a; do g; rm -rf $d; done",
    "for x in d; do for d in a; do read $x < f; rm -rf $d; done; done",
    "for x in d; do for d in a; do unset $x; rm -rf $d/etc; done; done",
    "for x in d=/etc; do for d in a; do typeset $x; rm -rf $d; done; done",
    "for x in d=/etc; do for d in a; do declare $x; rm -rf $d; done; done",
    "select d in a; do rm -rf $d/etc; done",
    "IFS=x; for d in /xetc; do rm -rf $d; done",
    // Where the loop is over, or has not begun.
    "for d in a; do :; done; rm -rf $d/etc",
    "rm -rf $d/etc; for d in a; do :; done",
    "for d in a; do rm -rf x; done > /dev/$d",
    "for d in a $(rm -rf \"$d/etc\"); do :; done",
    // Words that are not known.
    "for d in a $(cat f); do rm -rf $d; done",
    "for d in a $x; do rm -rf $d; done",
    "for d; do rm -rf $d; done",
    "for d in \"$@\"; do rm -rf $d; done",
    "for d in {1..3}/../../../etc; do rm -rf $d; done",
    "for d in a b; do rm -rf ${d%a}/etc; done",
    "for d in a b; do cd $d; rm -rf ../../../x; done",
    "for d in .. b; do cd $d; rm -rf ../../../x; done",
    "for d in a b; do time cd $d; rm -rf ../../../x; done",
    "for d in ../../.. b; do command cd $d; rm -rf etc; done",
    "for d in ../../.. b; do pushd $d; rm -rf etc; done",
    "for d in a ..; do cd $d && rm -rf x; done",
    "for d in a /; do cd $d && rm -rf etc; done",
    "for d in / a; do (cd $d && rm -rf etc); done",
    "for d in a b; do cd $d; rm -rf ../../x; done",
    "for d in a -; do cd $d; rm -rf *; done",
    "for d in */; do cd $d; rm -rf ../../x; done",
    "for d in a b; do cd $d; cd ../..; rm -rf x; done",
    "for d in / b; do pushd $d; done; rm -rf etc",
    // What is no `cat` of a text, or not of this one.
    "cat() { echo /etc; }; rm -rf \"$(cat <<'E'\na\nE\n)\"",
    "rm -rf \"$(cat <<'E'\n/etc\nE\n)\"",
    "rm -rf $(cat <<'E'\na /etc\nE\n)",
    "rm -rf \"$(cat <<E\n$x\nE\n)\"",
    "rm -rf \"$(cat <<'E' f\na\nE\n)\"",
    "rm -rf \"$(cat <<'E' | rev\ncte/\nE\n)\"",
    "rm -rf \"$(for i in 1 2; do cat <<'E'; done\n/etc\nE\n)\"",
    "rm -rf \"$(case x in y) cat <<'E' ;; esac\na\nE\n)/etc\"",
    "rm -rf \"$(f() { cat <<'E'\na\nE\n})/etc\"",
    "rm -rf \"$(cat <<'E' >f\na\nE\n)/etc\"",
    "rm -rf \"$(cat 3<<'E'\na\nE\n)/etc\"",
    "rm -rf \"$(cat <<'E' <&3\na\nE\n)/etc\"",
    "rm -rf \"$(cat <<'E' 2>&1 >&2\na\nE\n)/etc\"",
    "rm -rf \"$(cat <<'E' <f\na\nE\n)/etc\"",
    "rm -rf \"$(cat <<'E' &\na\nE\n)/etc\"",
    "rm -rf \"$(x=1 cat <<'E'\na\nE\n)/etc\"",
    "rm -rf \"$(if cat <<'E'; then :; fi\na\nE\n)/etc\"",
    "rm -rf `cat f`",
    // A pipe is not what is run, removed or written.
    "bash <(echo sudo ls)",
    "source <(echo sudo ls)",
    "python3 <(echo x)",
    "rm -rf <(echo x)",
    "exec > >(sh)",
    "exec 3< <(sudo ls)",
    "sh < <(echo sudo ls)",
    "bash < <(echo sudo ls)",
    "diff <(sudo ls) x",
];

#[test]
fn words_of_loops_texts_and_pipes_are_known_where_nothing_else_can_be_meant() {
    assert_eq!(judged_otherwise(HARMLESS, Action::Allow), Vec::new());
}

#[test]
fn loops_texts_and_pipes_hide_nothing() {
    assert_eq!(allowed(STOPPED), Vec::<&str>::new());
}

#[test]
fn each_turn_of_a_loop_is_listed_once_and_many_of_them_are_not_looked_at() {
    let listed = |command: &str| {
        let commands = analyze(command, &context()).commands;
        commands.into_iter().map(|command| command.text).collect::<Vec<_>>()
    };
    assert_eq!(listed("for x in b a b; do w $x; v; done"), ["w b", "w a", "v"]);
    let words: Vec<String> = (0..33).map(|number| format!("w{number}")).collect();
    assert_eq!(listed(&format!("for x in {}; do w $x; done", words[1..].join(" "))).len(), 32);
    assert_eq!(listed(&format!("for x in {}; do w $x; done", words.join(" "))), ["w …"]);
    assert_eq!(listed("for x in 1 2 3 4 5 6 7 8 9; do for y in 1 2 3 4 5 6 7 8; do w $x$y; done; done"), ["w ……"]);
    assert_eq!(listed("for x in 1 2; do for y in 1 2; do for z in 1 2; do w $x$y$z; done; done; done"), ["w ………"]);
}
