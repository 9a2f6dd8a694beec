//! Words by which a program does less than its name says, or starts what is named behind it.

use super::super::paths;
use super::*;

#[test]
fn a_program_that_changes_the_machine_may_tell_of_it() {
    for command in [
        "systemctl status nginx",
        "systemctl --user --no-pager -l status x.service y",
        "systemctl list-units --type=service --state=running",
        "systemctl is-active x; systemctl show x",
        "crontab -l",
        "mount -l",
        "iptables -L",
        "iptables -nvL --line-numbers",
        "ip6tables -t nat -L INPUT -n",
        "iptables -S",
    ] {
        assert_eq!(action(command), Action::Allow, "{command}");
    }
    for command in [
        "systemctl",
        "systemctl stop x",
        "systemctl --no-pager stop status",
        "systemctl -H other status x",
        "systemctl --host=other status",
        "systemctl $x",
        "systemctl status $x",
        "systemctl edit x",
        "crontab",
        "crontab -l -r",
        "crontab -lr",
        "crontab x",
        "mount -l -o remount,rw /",
        "mount -a",
        "iptables",
        "iptables -F",
        "iptables -L -Z",
        "iptables -ZL",
        "iptables -L x -F y",
        "iptables -t nat",
        "iptables -n -v",
        "lsmod",
        "sudo systemctl status x",
    ] {
        assert_eq!(action(command), Action::Deny, "{command}");
    }
}

#[test]
fn what_a_runner_starts_with_something_is_what_is_judged() {
    for command in [
        "uv run --with httpx pytest -q",
        "uv run --python 3.12 --with='a[b]==1.2' pytest",
        "npx -p typescript tsc --noEmit",
        "npx --package=@scope/tool@1 -y tool",
        "npm exec -p typescript -- tsc",
        "conda run -n env pytest",
        "rsync -e ssh -a a host:b",
        "rsync -avze ssh a host:b",
        "rsync --rsh=ssh a host:b",
        "rsync -a file host:b; rsync -a e - | cat",
        "tar -I zstd -cf a.tar.zst src",
        "tar --use-compress-program=pigz -cf a.tgz src",
        "BROWSER=none npm start",
        "PYTEST_ADDOPTS='-x -q --tb=short' pytest",
        "git config get user.name",
        "git config list -f F",
        "git config list --show-origin --file F",
        "git config --list -f F",
        "git config -l -fF",
        "bash tests/*.sh",
        "sh -e ./t?.sh x",
        "PYTHONPATH=$PWD/src pytest",
        "PYTHONPATH=src:$PWD true; NODE_PATH=$PWD/lib node a.js",
    ] {
        assert_eq!(action(command), Action::Allow, "{command}");
    }
    for command in [
        "uv run --with httpx $x",
        "uv run --with ./evil pytest",
        "uv run --with evil.whl pytest",
        "uv run --with 'a @ file:x' pytest",
        "uv run --with \"$x\" pytest",
        "uv run --with-editable x pytest",
        "npx -p a/b tsc",
        "npx -p x.tgz tsc",
        "npx -p x -c 'touch y'",
        "conda run -p ./evil ls",
        "conda run -n x \"$y\"",
        "rsync -e ./x a host:b",
        "rsync -e 'ssh -o ProxyCommand=x' a host:b",
        "rsync -ee ssh a host:b",
        "rsync -ex ssh a host:b",
        "rsync -a -e \"$x\" a host:b",
        "rsync --rsh 'ssh -F x' a host:b",
        "rsync --rs=./x a host:b",
        "rsync --rsync-path=x -e ssh a host:b",
        "tar -I ./x -cf a src",
        "tar -I 'zstd -19; x' -cf a src",
        "tar -cI zstd -f a src",
        "tar -I zstd -F ./x -cf a src",
        "tar --use-compress-program=./pigz -cf a src",
        "tar --use-compress-program=\"$x\" -cf a src",
        "BROWSER=./x npm start",
        "PYTEST_ADDOPTS='-p evil' pytest",
        "PYTEST_ADDOPTS=-c=x pytest",
        "git config get core.editor x",
        "git config --rename-section list core",
        "git config --add list x.y",
        "git config list.x y",
        "git config \"$x\" -f F",
        "bash *.sh",
        "bash -*",
        "bash /dev/fd/*",
        "bash tests/$x",
        "bash -c tests/*.sh",
        "bash ?c x",
        "PYTHONPATH=$PWD/../x pytest",
        "PYTHONPATH=$PWD/src:/tmp pytest",
        "PYTHONPATH=${PWD}x pytest",
        "cd src; PYTHONPATH=$PWD pytest",
        "PATH=$PWD/bin:x ls",
        "git config core.editor x",
    ] {
        assert_eq!(action(command), Action::Ask, "{command}");
    }
    for command in ["uv run --with x sudo ls", "npx -p x rm -rf /", "conda run -n x -- sudo ls"] {
        assert_eq!(action(command), Action::Deny, "{command}");
    }
}

#[test]
fn env_sets_what_is_not_known_as_the_shell_does() {
    for command in ["env X=\"$y\" make", "env -i A=1 X=\"a$(date)b\" B=2 make", "env X=\"$y\""] {
        assert_eq!(action(command), Action::Allow, "{command}");
    }
    for command in [
        "env X=$y make",
        "env \"$y\" make",
        "env \"$y=1\" make",
        "env X=\"$@\" make",
        "env \"-$y=1\" make",
        "env PATH=\"$y\" make",
        "env LD_PRELOAD=\"$y\" make",
        "env PAGER=\"$y\" git log",
        "env X=\"$y\" \"$z\"",
        "env X=\"$y\" vim",
    ] {
        assert_eq!(action(command), Action::Ask, "{command}");
    }
    assert_eq!(action("env X=\"$y\" sudo ls"), Action::Deny);
}

#[test]
fn a_name_in_one_word_that_begins_as_no_option_does_is_an_operand() {
    for command in [
        "find . -name '*.py' -exec sed -i 's/a/b/g' {} +",
        "find src test/ -name x -prune -o -name '*.ts' -exec sed -n 1p {} ';'; true",
        "find -type f -exec sed -i -e s/a/b/ {} ';'",
        "find -L src -type f -exec sed -i.bak s/a/b/ {} +",
        "find /w/src -newer x -exec sed -i s/a/b/ {} +",
        "find . -exec gsed -i s/a/b/ {} +",
        "find . -type f -exec /bin/sed -i s/a/b/ {} ';'",
        "find src -exec env sed -i s/a/b/ {} +",
        "find src -exec /usr/bin/env LC_ALL=C X=y sed -i s/a/b/ {} +",
        "sed -i s/a/b/ \"src/$x\" \"./$(git ls-files | head -1)\"",
        "git ls-files -z | while IFS= read -r -d '' f; do sed -i s/a/b/ \"./$f\"; done",
        "rm \"./$x\" -f; rm ./\"$x\".o; rm ./$$.tmp",
        "rm ./$x x\"y\"$x",
    ] {
        assert_eq!(action(command), Action::Allow, "{command}");
    }
    for command in [
        "find \"$x\" -exec sed -i s/a/b/ {} +",
        "find . -exec sed {} +",
        "find -- -e -exec sed -i s/a/b/ {} +",
        "find -E -e -exec sed -i s/a/b/ {} +",
        "find -f -e -- -exec sed -i s/a/b/ {} +",
        "find . -exec sed -f {} x ';'",
        "find . -exec gsed {} +",
        "find . -exec /bin/sed -i s/a/b/e {} +",
        "find \"$x\" -exec /bin/sed -i s/a/b/ {} +",
        "find src -exec env sed -f {} x ';'",
        "find src -exec env sed {} +",
        "find src -exec env {} -i s/a/b/ x ';'",
        "find src -exec env -S sed -i s/a/b/ {} +",
        "find src -exec env PATH=x sed -i s/a/b/ {} +",
        "find . -exec sed -i s/a/b/ x{} ';'",
        "find . -exec sed -i s/a/b/e {} +",
        "find . -exec sed -e {} x ';'",
        "find -files0-from x -exec sed -i s/a/b/ {} +",
        "sed -i s/a/b/ \"$x\"",
        "sed -i s/a/b/ ./$x",
        "sed -i s/a/b/ ./\"$@\" ./$(cat x)",
        "sed -i s/a/b/ \"./${x[@]}\"",
        "sed -i \"s/$x/b/\" f",
        "sed -f \"./$x\" f",
        "sed \"p$x\" f",
        "rm a$(cat x)",
        "read x < f; rm ./$x",
        "rm \"./$@\"",
    ] {
        assert_eq!(action(command), Action::Ask, "{command}");
    }
    // An earlier line may have put more into it.
    let later = CommandContext { continues: true, ..context() };
    for command in ["rm ./$x", "rm x\"y\"$x", "rm -f build/$name.o"] {
        assert_eq!(analyze(command, &later).verdict.action, Action::Ask, "{command}");
    }
    assert_eq!(analyze("rm ./\"$x\" ./a$$", &later).verdict.action, Action::Allow);
}

/// `rm ./${x%y}` ran where `rm ./$x` was asked about: blanks in the value make more words of it, which may be options.
#[test]
fn what_is_made_of_a_variable_may_be_options_where_the_variable_may() {
    let later = CommandContext { continues: true, ..context() };
    for command in [
        "rm ./${x%y}",
        "rm ./${x#y}",
        "rm ./${x:1}",
        "rm ./${x^}",
        "rm ./${x:-y}",
        "rm ./${x/a/b}",
        "rm ./${a[0]}",
        "rm ./${a[@]}",
        "rm ./${!a[@]}",
        "rm ./${1%x}",
        "rm ./${@:2}",
        "rm ${x%$y}",
        "rm ./\"$y\"${x%.c}",
        "rm -f build/${x%.c}.o",
        "xargs rm ./${x%y}",
        "rm ./`cat f`",
        "rm \"./${a[@]}\"",
        "rm \"./${@:2}\"",
        "rm \"./${x:-$@}\"",
        "rm \"./${x:-${a[@]}}\"",
    ] {
        assert_eq!(analyze(command, &later).verdict.action, Action::Ask, "{command}");
    }
    for command in [
        "rm \"./${x%y}\" \"${x%y}\"",
        "rm ./\"${a[0]}\" \"./${a[*]}\"",
        "rm \"./${x%.c}.o\" \"./${x:-y z}\" \"./`cat f`\"",
        "rm ./${#x} ./${#a[@]} ./${#} ./${#?} ./${?} ./$? ./$# ./$$ ./$! ./$((1+2)) ./$((1+${#x}))",
        "rm $'./a b' ./$\"x\" ./$-",
        "rm -- ./${x%y}",
        "rm ./a* ./[ab]?",
    ] {
        assert_eq!(analyze(command, &later).verdict.action, Action::Allow, "{command}");
    }
    for command in [
        "read x < f; rm ./${x%y}",
        "a=(x 'y -rf'); rm ./${a[1]}",
        "mapfile -t a < f; rm ./${a[0]}",
        "x='a -rf b'; rm ./${x%b}",
        "x=a-rf; rm ${x#a}",
        "for f in *.c; do rm ./${f%.c}; done",
        "rm ./${x:-a -rf b}",
        "rm ./${x:+$y}",
        "rm ./${x/a/ -rf }",
        "rm ./${x//a/$'\\n'}",
        "rm ./`cat f`",
        "rm ./${#+ -rf}",
        "rm ./${#/0/ -rf }",
        "rm ./${x?}; read x < f",
    ] {
        assert_eq!(action(command), Action::Ask, "{command}");
    }
    for command in [
        "rm ./${x%y} x/${a[0]} ./${x%\"$y\"}",
        "x=foo.c; rm ${x%.c}.o ./${x%.c}.o",
        "for f in a.c b.c; do rm -f ./${f%.c}.o; done",
        "for f in src/*.c; do rm -f \"${f%.c}.o\"; done",
        "rm build/${ARCH:-x86_64}.o ./${x/a/b} ./${x:1}",
        "sed -i s/a/b/ \"src/${x%.c}.h\" ./$$.c",
    ] {
        assert_eq!(action(command), Action::Allow, "{command}");
    }
    for command in ["sed -i s/a/b/ src/${x%.c}.h", "sed -i s/a/b/ \"./${x:-$@}\"", "sed -i s/a/b/ \"${x%y}\""] {
        assert_eq!(action(command), Action::Ask, "{command}");
    }
}

#[test]
fn what_xargs_reads_of_a_find_are_names_that_are_no_options() {
    for command in [
        "find . -name '*.py' -print0 | xargs -0 sed -i s/a/b/",
        "find . -type f \\( -name '*.ts' -o -name '*.js' \\) -not -path './node_modules/*' -print0 | xargs -0 sed -i 's/a/b/g'",
        "find src test -print0 2>/dev/null | xargs -r0 -n 10 -P4 sed -i -e s/a/b/",
        "find . -print0 | xargs --null --max-args=5 env LC_ALL=C sed -i s/a/b/",
        "find . -print0 | env xargs -0 gsed -i s/a/b/ && make | tail",
        "sh -c 'find . -print0 | xargs -0 sed -i s/a/b/'",
    ] {
        assert_eq!(action(command), Action::Allow, "{command}");
    }
    for command in [
        "find . -name '*.py' | xargs sed -i s/a/b/",
        "find . -name '*.py' | xargs -0 sed -i s/a/b/",
        "find . -name '*.py' -print0 | xargs sed -i s/a/b/",
        "find . -print0 -print | xargs -0 sed -i s/a/b/",
        "find . -print0 -printf '-e\\0' | xargs -0 sed -i s/a/b/",
        "find . -print0 -exec cat {} + | xargs -0 sed -i s/a/b/",
        "find . -print0 -ls | xargs -0 sed -i s/a/b/",
        "find . -name * -print0 | xargs -0 sed -i s/a/b/",
        "find . -name \"$x\" -print0 | xargs -0 sed -i s/a/b/",
        "find \"$x\" -print0 | xargs -0 sed -i s/a/b/",
        "find -files0-from f -print0 | xargs -0 sed -i s/a/b/",
        "find -- -e -print0 | xargs -0 sed -i s/a/b/",
        "find . -print0 2>&1 | xargs -0 sed -i s/a/b/",
        "find . -print0 |& xargs -0 sed -i s/a/b/",
        "find . -print0 2>/dev/stdout | xargs -0 sed -i s/a/b/",
        "find . -print0 | sort -z | xargs -0 sed -i s/a/b/",
        "{ cat f; find . -print0; } | xargs -0 sed -i s/a/b/",
        "find . -print0 | { read x; xargs -0 sed -i s/a/b/; }",
        "find . -print0 | xargs -0 sed -i s/a/b/ < f",
        "find . -print0 | xargs -0 -a f sed -i s/a/b/",
        "find . -print0 | xargs -0 -d x sed -i s/a/b/",
        "find . -print0 | xargs -n0 sed -i s/a/b/",
        "find . -print0 | xargs -0 sed -i",
        "find . -print0 | xargs -0 sed -i -f",
        "find . -print0 | xargs -0 sed -i s/a/b/e",
        "find / -print0 | xargs -0 sed -i s/a/b/",
        "find ~ -name x -print0 | xargs -0 sed -i s/a/b/",
        "find src /home/u -print0 | xargs -0 sed -i s/a/b/",
        "find . -print0 | xargs -0 sh",
        "find() { cat f; }; find . -print0 | xargs -0 sed -i s/a/b/",
        "eval 'find() { cat f; }'; find . -print0 | xargs -0 sed -i s/a/b/",
        "eval \"eval 'find() { cat f; }'\"; eval 'find . -print0 | xargs -0 sed -i s/a/b/'",
    ] {
        assert_eq!(action(command), Action::Ask, "{command}");
    }
    let later = CommandContext { continues: true, ..context() };
    let command = "find . -name '*.py' -print0 | xargs -0 sed -i s/a/b/";
    assert_eq!(analyze(command, &later).verdict.action, Action::Allow);
    assert_eq!(analyze("find() { cat f; }", &later).verdict.action, Action::Ask);
    // What is found is written.
    let places = analyze("find src -print0 | xargs -0 sed -i s/a/b/", &context()).places;
    assert!(
        places.iter().any(|place| place.what == paths::Use::Write
            && place.paths.iter().any(|path| path.starts_with("/work/project/src")))
    );
}
