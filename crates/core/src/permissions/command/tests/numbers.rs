//! Text that nobody knows where bash takes a number: it runs commands in the subscripts of such a text.

use super::*;

const STOPPED: &[&str] = &[
    "x=$(cat f); echo $((x))",
    "x=$(cat f); (( x ))",
    "x=$(cat f); y=$x; echo $((y+1))",
    "read x < f; echo $((x))",
    "read -r a b < f; [[ $b -eq 1 ]]",
    "x=$(cat f); [[ x -gt 3 ]]",
    "x=$(cat f); echo ${a[x]}",
    "x=$(cat f); echo ${a[$x]}",
    "x=$(cat f); echo ${s:x:1}",
    "x=$(cat f); echo ${s:$x}",
    "x=$(cat f); a[x]=1",
    "x=$(cat f); let y=x+1",
    "x=$(cat f); let \"y = $x\"",
    "declare -i n; n=$(cat f)",
    "declare -i n=$(cat f)",
    "for x in *; do echo $((x)); done",
    "for x in $(cat f); do ((x++)); done",
    "bash -c 'echo $(($1))' _ \"$(cat f)\"",
    "f() { echo $(($1)); }; f \"$(cat f)\"",
    "set -- $(cat f); echo $(($1))",
    "cat f | while read n; do s=$((s+n)); done",
    "export x=$(cat f); bash -c 'echo $((x))'",
    "printf -v \"$x\" y",
    "read \"$x\" < f",
    "unset \"$x\"",
    "declare \"$x=1\"",
    "local \"$x\"",
    "mapfile \"$x\" < f",
    "wait -n -p \"$x\"",
    "getopts ab \"$x\"",
    "x[0]='a[$(sudo ls)]'; echo $((x))",
    "x=5; x=$(cat f); echo $((x))",
    "x[1]=$(cat f); echo ${a[x]}",
    "read -a x < f; echo $((x))",
    "read x y < f; echo $(( y ))",
    "cat f | { read x; echo $((x)); }",
    "x=`cat f`; echo $((x))",
    "x=$(<f); echo $((x))",
    "x=$(wc -l f); echo $((x))",
    "x=$(cat f; wc -l < f); echo $((x))",
    "x=$(date \"+a[%s]\"); echo $((x))",
    "wc() { cat f; }; x=$(wc -l); echo $((x))",
    "x=$(seq -f \"a[%g]\" 1); echo $((x))",
    "x=$(grep -c x *); echo $((x))",
    "x=$(grep x f); echo $((x))",
    "for x in \"$(cat f)\"; do echo $((x)); done",
    "for ((i=x; i<3; i++)); do :; done; x=$(cat f)",
    "x=y; y=$(cat f); echo $((x))",
    "x=a; a=b; b=$(cat f); echo $((x))",
    "echo $(( $(cat f) ))",
    "echo $(( `cat f` ))",
    "echo $(( 1 + ${x:-$(cat f)} ))",
    "echo $((x)) <<< $(read x < f)",
    "echo ${a[$(cat f)]}",
    "echo ${a[\"$x\"]}; x=$(cat f)",
    "echo ${a['x']}; x=$(cat f)",
    "x=$(cat f); echo \"${s:x}\"",
    "x=$(cat f); echo \"${s: x}\"",
    "x=$(cat f); echo \"${@:x}\"",
    "x=$(cat f); echo ${a[1+x]}",
    "x=$(cat f); echo ${a[b[x]]}",
    "x=$(cat f); echo ${#a[x]}",
    "x=$(cat f); echo ${a[0]:x}",
    "x=$(cat f); [[ 1 -eq x && 2 -gt 1 ]]",
    "x=$(cat f); [[ a && x -gt 1 ]]",
    "RANDOM=$(cat f)",
    "OPTIND=$(cat f)",
    "typeset -i x=y; y=$(cat f)",
    "integer n=$(cat f)",
    "x=$(cat f); builtin let y=x",
    "x=$(cat f); command let y=x",
    "x=$(cat f); sh -c \"echo \\$((x))\"",
    "x=$(cat f) bash -c 'echo $((x))'",
    "f() { ((i=$1)); }; f \"$(cat f)\"",
    "x=$(cat f); x+=1; echo $((x))",
    "printf -v x %s \"$(cat f)\"; ((x))",
    "mapfile x < f; ((x[0]))",
    "getopts \"$x\" y; echo $((OPTARG))",
    "eval 'x=$(cat f)'; eval 'echo $((x))'",
    "x=$(cat f); trap 'echo $((x))' EXIT",
    "x=$(cat f); alias q='echo $((x))'",
    "while read x; do s=$((s + x)); done < f",
    "read < f; echo $((REPLY))",
    "{a[$(cat f)]}>x",
    "export \"$x\"",
    "readonly \"$x=1\"",
    "declare $x",
    "read -r \"$x\"",
    "read -rp \"$p\" \"$x\"",
    "unset \"a[$x]\"",
];

const HARMLESS: &[&str] = &[
    "for ((i = 0; i < 3; i++)); do echo $i; done",
    "n=$(wc -l < f); echo $((n + 1))",
    "n=$(ls | wc -l); if [[ $n -gt 3 ]]; then echo many; fi",
    "start=$(date +%s); make; end=$(date +%s); echo $((end - start))",
    "echo $(( $(nproc) * 2 ))",
    "for i in $(seq 1 5); do echo $((i * i)); done",
    "for i in {1..5}; do echo $((i * i)); done",
    "i=0; for f in *; do ((i++)); done; echo $i",
    "((count += 1)); echo $count",
    "x=5; y=$x; echo $((y + 1))",
    "[[ $# -gt 0 ]] && echo y",
    "f() { echo $(($1 + 1)); }; f 3",
    "f() { local n=$1; echo $((n * 2)); }; f 21",
    "s=abc; echo ${s:1:2}",
    "s=abc; for i in 0 1 2; do echo ${s:i:1}; done",
    "declare -i n=0; n=5",
    "let i=1; let i=i+1; echo $i",
    "let \"i += 1\"",
    ": ${N:=5}; echo $((N))",
    "echo $((RANDOM % 6))",
    "echo $((16#ff + 0x1F + 010))",
    "echo \"${@:2}\"",
    "echo \"${@}\"",
    "x=$(cat f); echo ${x:-none} ${x:+some} ${x:=d}",
    "x=$(cat f); echo ${x%.txt} ${x##*/} ${#x}",
    "while read -r line; do echo \"$line\"; done < x",
    "read -p \"$prompt\" x",
    "read -rp \"Name $x: \" y",
    "export FOO=bar",
    "export FOO=\"$BAR\"",
    "export FOO=$(date)",
    "local x=$1",
    "readonly X=1",
    "unset x y",
    "printf -v x %s y",
    "printf '%s\\n' \"$x\"",
    "getopts ab opt",
    "mapfile -t lines < f",
    "while ! curl -s localhost:80; do sleep 1; done",
    "while read -r x; do echo \"$x\" & done < f",
    "echo \"${arr[@]}\"",
    "echo \"${arr[0]}\"",
    "echo \"${#arr[@]}\"",
    "echo ${x[$i]}",
    "test $x -eq 3",
    "[ $x -gt 5 ]",
    "if (( x > 1 )); then echo y; fi",
    "seq 1 10",
    "x=$((x + 1))",
    "printf '%d\\n' $((2 ** 10))",
    "date -d @$(( $(date +%s) - 86400 ))",
    "head -c $((1024 * 1024)) /dev/urandom > x",
];

#[test]
fn allows_no_trick() {
    let allowed: Vec<_> = STOPPED.iter().filter(|command| action(command) == Action::Allow).collect();
    assert_eq!(allowed, Vec::<&&str>::new());
}

#[test]
fn allows_what_only_looks_like_one() {
    let stopped: Vec<_> = HARMLESS
        .iter()
        .map(|command| (*command, analyze(command, &context()).verdict))
        .filter(|(_, verdict)| verdict.action != Action::Allow)
        .collect();
    assert_eq!(stopped, Vec::new());
}

/// In a session a line may be given variables by the lines before.
#[test]
fn variables_of_earlier_lines_are_unknown() {
    let later = CommandContext { continues: true, ..context() };
    let action = |command: &str| analyze(command, &later).verdict.action;
    for command in ["echo $((x))", "((x++))", "[[ x -gt 1 ]]", "echo ${a[i]}", "echo $(($1))", "declare -i x"] {
        assert_eq!(action(command), Action::Ask, "{command}");
    }
    for command in ["x=1; echo $((x))", "echo $x", "echo $((RANDOM % 6))", "echo $((1 + 2))", "echo ${#x}"] {
        assert_eq!(action(command), Action::Allow, "{command}");
    }
    assert_eq!(super::action("echo $((x))"), Action::Allow);
}
