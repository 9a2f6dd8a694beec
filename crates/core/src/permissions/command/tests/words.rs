//! What words become: braces, empty words, tildes and patterns, and the variables that such words set.

use super::*;

const STOPPED: &[&str] = &[
    // Braces are expanded before variables.
    "x=ls; xudo=sudo; $x{udo,} ls",
    "x=a; rm -rf $x{b,c}/etc",
    "rm -rf $PWD{b,c}/etc",
    "rm -rf $PWD{1..2}/etc",
    "x=a; rm -rf {b,$x}c/etc",
    "x=a; rm -rf {$,}x/etc",
    "x=ls; {$,}x ls",
    // A plain `sh` does not expand them at all.
    "flock {a,b} sudo ls",
    "flock a{,} sudo ls",
    "sh -c 'flock {a,b} sudo ls'",
    "timeout {5,sudo} sudo ls",
    "mkdir -p '{x'; rm -rf {x/../../../home,y}",
    "cd {a,b} && rm -rf ../x",
    // An empty alternative is no word.
    "timeout {,5} sudo ls",
    "nice -n {,5} sudo ls",
    "sh {,-c} 'sudo ls'",
    "source {,/dev/stdin} <<< 'sudo ls'",
    "trap {,'sudo ls'} EXIT",
    "sh {'',} -c 'sudo ls'",
    // No pattern goes beyond a slash.
    "mkdir -p 'a/b/c/[' ']'; rm -rf a/b/c/[/../../../../]/../../../etc",
    "rm -rf /hom[[:alpha:]]",
    "rm -rf /hom[!]x]",
    "rm -rf /hom[\"]\"e]",
    "x=$(cat f); rm -rf [$x]",
    // An empty variable without quotes is no word.
    "x=; timeout $x 5 sudo ls",
    "x=; nice -n $x 5 sudo ls",
    "x=; env -u $x FOO sudo ls",
    "x=; flock $x f sudo ls",
    "x=; sh $x -c 'sudo ls'",
    "x=; bash -c $x 'sudo ls'",
    "x=; python3 $x -c 'x'",
    "x=; git $x -c alias.x='!sudo ls' x",
    "x=; sed $x '1e sudo ls' f",
    "x=; exec -a $x foo sudo ls",
    "x=; xargs -n $x 1 sudo ls <<< 1",
    "x=; y=; timeout $x$y 5 sudo ls",
    "x=; $x sudo ls",
    "x=; $x eval 'sudo ls'",
    "x=; $x read y <f; echo $((y))",
    "x=''; timeout $x 5 sudo ls",
    // A pattern may bring the command itself.
    "> 5; > sudo; > x; timeout *",
    "timeout ? ls",
    "flock [ab]* ls",
    // Names of variables that words become.
    "x=ls; declare {x,y}=sudo; $x ls",
    "x=ls; read {x,y} <<< sudo; $x ls",
    "x=ls; export {x,}=sudo; $x ls",
    "x=a; unset {x,y}; rm -rf \"$x\"/home",
    "x=ls; y=x; printf -v $y sudo; $x ls",
    "x=ls; y=x; declare $y=sudo; $x ls",
    "x=ls; y='x=sudo'; declare $y; $x ls",
    "x=ls; y=x; mapfile -t $y <<< sudo; $x",
    "x=ls; y=x; export \"$y=sudo\"; $x ls",
    "x=a; y=x; unset $y; rm -rf $x/home",
    "x=ls; > xa; read x? <<< sudo; $x ls",
    "> PATH; read PAT? <<< x; ls",
    "y='a PATH'; read $y <<< 'x y'; ls",
    // The name of the builtin itself.
    "x=ls; y=eval; $y 'x=sudo'; $x ls",
    "y=.; x=ls; echo x=sudo>f; $y ./f; $x ls",
    "x=ls; y=read; $y x <<< sudo; $x ls",
    "y=declare; x=ls; $y x=sudo; $x ls",
    "x=ls; {read,x} <<< sudo; $x ls",
    "x=ls; {eval,x=sudo}; $x ls",
    "x=ls; b=builtin; $b read x <<< sudo; $x ls",
    "y=read; $y x <f; echo $((x))",
    "y=let; $y 'x=a[$(sudo ls)]'",
    "y=set; $y -- \"$(cat f)\"; echo $(($1))",
    // Text that is run behind a word of the shell.
    "x=ls; command eval 'true; x=sudo'; $x ls",
    "x=ls; builtin eval 'true; x=sudo'; $x ls",
    "x=ls; time eval 'true;x=sudo'; $x ls",
    "x=ls; command . ./f; $x ls",
    "x=ls; builtin source ./f; $x ls",
    "x=ls; time x=sudo; $x ls",
    "f() { y=sudo; }; eval 'y=ls; f; $y ls'",
    "f() { y=sudo; }; export -f f; bash -c 'y=ls; f; $y ls'",
    "f() { y=sudo; }; echo `y=ls; f; $y ls`",
    // Options with their values in one word.
    "x=ls; printf -vx sudo; $x ls",
    "x=ls; read -ax <<< sudo; $x ls",
    "x=ls; read -rax <<< sudo; $x ls",
    "x=ls; printf -v{x,y} sudo; $x ls",
    "cp /tmp/evil ls; read -aPATH <<< x; ls",
    "cp /tmp/evil ls; read -raPATH <<< x; ls",
    "read -ax <f; echo $((x))",
    "read -rax <f; ((x))",
    "x=ls; wait -npx; $x ls",
    // Homes.
    "x=~; rm -rf $x",
    "x=~root; rm -rf $x",
    "x=a:~; rm -rf \"${x}\"",
    "rm -rf {~,x}",
    "rm -rf {a,~}",
    "rm -rf {a,~root}/x",
    "rm -rf ''~/x",
    "rm -rf \"\"~",
    "rm -rf ~\"\"",
    "x=; rm -rf a=$x~ b=~",
    // What sums set.
    "[[ IFS=1 -eq 1 ]]; x=sudo1ls; $x",
    "declare -i y='IFS=1'; x=sudo1ls; $x",
    "let y=IFS=1; x=sudo1ls; $x",
    "y='IFS=1'; echo $((y)); x=sudo1ls; $x",
    "y=I; z='FS=1'; w=\"$y$z\"; echo $((w)); x=sudo1ls; $x",
    "y=FS; w=\"I$y=1\"; echo $((w)); x=sudo1ls; $x",
    "y=IFS; w=\"$y=1\"; echo $((w)); x=sudo1ls; $x",
    "y=I; w=\"$y\"FS=1; echo $((w)); x=sudo1ls; $x",
    "w='I''FS=1'; echo $((w)); x=sudo1ls; $x",
    "[[ PATH=1 -eq 1 ]]; ls",
    "declare -i y='PATH=1'; ls",
    "y='PATH=1'; echo $((y)); ls",
    "ln -s / 1; x=a; y='x=1'; echo $((y)); rm -rf $x/etc",
    "ln -s / 1; x=a; [[ x=1 -eq 1 ]]; rm -rf $x/etc",
    "ln -s / 1; x=a; declare -i y; y='x=1'; rm -rf $x/etc",
    // Values in parentheses.
    "declare -a x='($(sudo ls))'",
    "declare -a x; declare 'x=($(sudo ls))'",
    "typeset -a x; typeset x='($(sudo ls))'",
    "f() { local -a x; local x='($(sudo ls))'; }; f",
    "declare -A x; declare -A x='($(sudo ls) 1)'",
    "declare -a x; y='($(sudo ls))'; declare x=\"$y\"",
    "declare -a x; y=$(cat f); declare x=\"$y\"",
    "read -ra x <<< 1; declare x=\"$(cat f)\"",
    "mapfile x <f; declare x+=\"$(cat f)\"",
    "export -a x='($(sudo ls))'",
    "readonly -a x=\"$(cat f)\"",
    "declare PIPESTATUS=\"$(cat f)\"",
    "v=$(cat f); y=(a); declare y=$v",
    "v=$(cat f); y=(); typeset y=$v",
    "v=$(cat f); export y=(a); declare y=$v",
    "v=$(cat f); f() { y=(a); declare -g y=$v; }; f",
    "v=$(cat f); f() { local y=(a); local y=$v; }; f",
    "read v < f; y+=(a); declare y+=$v",
    // Variables that evaluate what they are given, and such as are no longer those of the shell.
    "SECONDS=('a[$(sudo ls)]')",
    "x=$(cat f); BASHPID=(\"$x\")",
    "x=$(cat f); declare SECONDS=$x",
    "x=$(cat f); printf -v RANDOM %s \"$x\"",
    "read OPTIND < f",
    "mapfile -t SECONDS < f",
    "x=$(cat f); unset SECONDS; SECONDS=$x; echo $((SECONDS))",
    "x=$(cat f); f() { local LINENO; LINENO=$x; echo $((LINENO)); }; f",
    "x=$(cat f); f() { echo $((EPOCHSECONDS)); }; EPOCHSECONDS=$x f",
    // What a shell is handed by another program.
    "timeout 5 bash -c 'echo $(($1))' _ 'a[$(sudo ls)]'",
    "find . -exec bash -c 'echo $(($1))' _ 'a[$(sudo ls)]' \\;",
    "find . -exec bash -c 'echo $(($1))' _ {} \\;",
    "env bash -c 'echo $(($1))' _ \"$(cat f)\"",
    "xargs bash -c 'echo $(($1))' _ <f",
    "y=$(cat f); [[ '' || y -gt 1 || b ]]",
    "y=$(cat f); [[ a && b && y -gt 1 && b ]]",
    "read {x,y} <f; echo $((x))",
    "declare {x,y}=\"$(cat f)\"; ((x))",
    "declare -i {x,y}=z; z=$(cat f)",
    "HISTCMD=$(cat f)",
    "SRANDOM=$(cat f)",
];

const HARMLESS: &[&str] = &[
    "x=a; mkdir -p ${x}/{b,c}",
    "mkdir -p src/{a,b}/{c,d}",
    "cp x{,.bak}",
    "mv file.{txt,md}",
    "touch {a,b,c}.txt && ls {a,b}.txt",
    "rm -rf {dist,build}",
    "rm -rf packages/{a,b}/dist",
    "timeout 5 ls {a,b}",
    "flock f make {a,b}",
    "x=; ls $x",
    "x=; make $x all",
    "x=; y=; ls $x$y \"$x\"",
    "x=; $x ls",
    "x=; $x",
    "DRY=; $DRY npm test",
    "ls [ab]* [!a]* [[:alpha:]]*",
    "rm -rf build/[0-9]*",
    "grep -c '[/]' x",
    "echo [/]",
    "timeout 5 ls *",
    "nice -n 5 ls *.txt",
    "x=ls; $x",
    "CC=gcc; $CC -o x x.c",
    "x=ls; export y=1; $x",
    "x=ls; declare -r y=1; $x",
    "dir=build; read -r x < f; rm -rf $dir",
    "dir=build; printf '%s\\n' a; rm -rf $dir",
    "dir=build; cd src; rm -rf $dir",
    "dir=build; export FLAGS=\"--outdir=dir\"; rm -rf $dir",
    "dir=build; i=0; i=$((i+1)); rm -rf $dir",
    "dir=build; for i in 1 2; do echo $((i+1)); done; rm -rf $dir",
    "dir=build; time make; rm -rf $dir",
    "dir=build; make & wait $!; rm -rf $dir",
    "printf \"$i\"; i=$((i + 1))",
    "f() { echo \"$1\" $(($2 + 1)); }; f \"$HOME\" 3",
    "dir=build; command -v node; rm -rf $dir",
    "read -p \"$prompt\" x",
    "unset a[0]",
    "unset x y",
    "d=~/x; ls $d",
    "x=~; ls \"$x\"",
    "cd ~ && ls",
    "ls ~/x ~/\"a b\"",
    "cat {~,x}/y",
    "make PREFIX=~/x install",
    "git show HEAD~1",
    "PATH_TO=a:~",
    "declare -a x",
    "declare -A m",
    "declare x='(a b)'",
    "declare x=\"$(cat f)\"",
    "local x=\"$(cat f)\"",
    "export x=\"$(cat f)\"",
    "declare -r x='$(a)'",
    "timeout 5 bash -c 'echo $(($1))' _ 3",
    "find . -exec bash -c 'echo \"$1\"' _ {} \\;",
    "f() { echo $(($1 + 1)); }; time f 3",
    "[[ -n $x || a == 1 ]]",
    "y=1; [[ a && y -gt 1 ]]",
    "y='IFS=1'; echo \"$y\"",
    "n=1; m=2; x=\"$n.$m\"; echo $x",
    "x=\"a=$y\"; echo $((1 + 1))",
    "read -ra parts <<< 'a b'",
    "while getopts ab: o; do :; done; shift $((OPTIND - 1))",
    "OPTIND=1; shift $((OPTIND - 1))",
    "SECONDS=0; ls; echo $((SECONDS / 60))",
    "echo $((RANDOM % 6))",
    "x=(a b); declare y=\"$(cat f)\"",
    "IFS_OLD=x",
];

#[test]
fn words_bring_nothing_that_was_not_seen() {
    assert_eq!(allowed(STOPPED), Vec::<&str>::new());
}

#[test]
fn ordinary_words_are_known() {
    assert_eq!(judged_otherwise(HARMLESS, Action::Allow), Vec::new());
}

/// What earlier lines of a session made read-only, or run in a function or a trap, is not seen.
#[test]
fn variables_of_a_session_are_not_known() {
    let later = CommandContext { continues: true, ..context() };
    let action = |command: &str| analyze(command, &later).verdict.action;
    for command in [
        "x=ls; f; $x ls",
        "x=ls\n$x ls",
        "x=ls; $x ls",
        "x=a; rm -rf $x/etc",
        "declare x='($(sudo ls))'",
        "declare x=\"$(cat f)\"",
        "PWD=/home",
    ] {
        assert_ne!(action(command), Action::Allow, "{command}");
    }
    for command in [
        "x=a; cat $x",
        "x=a; echo \"$x\" > b",
        "x=$(cat f); echo $x",
        "rm -rf \"$PWD/build\"",
        "ls $HOME",
        "export x=\"$(cat f)\"",
        "f() { local x=\"$(cat f)\"; }",
        "declare x='(a b)'",
    ] {
        assert_eq!(action(command), Action::Allow, "{command}");
    }
}

/// What is not known of other variables is no reason to forget where home is.
#[test]
fn homes_stay_known_behind_unknown_commands() {
    for command in
        ["$X; rm -rf ~", "read -p \"$p\" x; rm -rf $HOME", "printf \"$x\"; rm -rf \"$HOME\"", "wait $x; rm -rf ~/"]
    {
        assert_eq!(action(command), Action::Deny, "{command}");
    }
    assert_eq!(action("trap \"$x\" EXIT; rm -rf $HOME"), Action::Ask);
}

/// What a plain `sh` runs is listed as well; the command itself only once.
#[test]
fn both_readings_of_braces_count() {
    assert_eq!(texts("ls {a,b}"), ["ls a b"]);
    assert_eq!(texts("timeout {1,2} ls"), ["timeout 1 2 ls", "2 ls", "ls"]);
    assert_eq!(texts("x=; ls $x a"), ["ls a"]);
    assert_eq!(texts("ls [a/b] [/../]"), ["ls [a/b] [/../]"]);
}

/// Each position at which a device may begin was read to the end of the word: 11 s for 60 KB.
#[test]
fn one_word_names_so_many_devices_and_no_more() {
    use super::super::paths::NORMALISED;
    NORMALISED.set(0);
    assert_eq!(action(&format!("foo {}", "=/dev/".repeat(1_000))), Action::Ask);
    assert!(NORMALISED.get() < 100, "{}", NORMALISED.get());
    assert_eq!(action(&format!("foo {}sda", "=/dev/null ".repeat(500))), Action::Allow);
    assert_eq!(action("foo -o/dev/null:/dev/null,/dev/tty"), Action::Allow);
    assert_eq!(action("foo raw,file=/dev/null,file=/dev/sda"), Action::Ask);
    assert_eq!(action("foo -o/dev/sda"), Action::Ask);
    assert_eq!(action("foo -L./x/dev/sdk"), Action::Allow);
}

/// Values of variables must not make much out of little, and chains of names not take a turn for each.
#[test]
fn values_are_put_into_words_so_often_and_no_more() {
    let long = format!("x={}; echo{}", "a".repeat(10_000), " $x".repeat(5_000));
    let listed: usize = analyze(&long, &context()).commands.iter().map(|command| command.text.len()).sum();
    assert!(listed < 400_000, "{listed}");
    let chain: String = (1..500).map(|number| format!("v{number}=v{}; export $v{number}=1; ", number + 1)).collect();
    assert_ne!(action(&format!("{chain} $v499")), Action::Allow);
    let chain: String = (1..500).rev().map(|number| format!("v{number}=v{}; unset $v{number}; ", number + 1)).collect();
    assert_ne!(action(&format!("{chain} x=a; rm -rf $v1")), Action::Allow);
}

/// The table is searched by halves.
#[test]
fn the_names_of_poison_are_in_order() {
    assert!(super::super::variables::NAMES.is_sorted());
}
