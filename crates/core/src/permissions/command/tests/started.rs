//! Programs that run other programs: where program text, or the words of a command, hid behind options and settings.

use super::*;

/// Never simply allowed.
const STOPPED: &[&str] = &[
    // The value of an option ended the search for program text.
    "python3 -W ignore -c 'x'",
    "python3 -X utf8 -c 'x'",
    "python3 -W ignore - <<< 'x'",
    "python3 -X utf8 <<< 'x'",
    "python3 -bW ignore -c 'x'",
    "python3 -v <<< 'x'",
    "python3 -i x.py <<< 'x'",
    "python3 -m cProfile -m timeit 'x'",
    "python3 -m profile -mtimeit 'x'",
    "python3 -m trace --count --module timeit 'x'",
    "python3 -m trace --count --module=timeit 'x'",
    "python3 -m runpy timeit 'x'",
    "python3 -m asyncio.__main__",
    "node -r fs -e 'x'",
    "node --require fs -e 'x'",
    "node -C x -e 'x'",
    "node --input-type commonjs -e 'x'",
    "node --import fs <<< 'x'",
    "node --some-new-option x -e 'y'",
    "tsx --tsconfig x -e 'y'",
    "perl -I . -e 'x'",
    "perl -I . <<< 'x'",
    "ruby -r json -e 'x'",
    "php -d a=b -r 'x'",
    "php -d a -r 'x'",
    // An interpreter of one's own is one as well.
    ".venv/bin/python -c 'x'",
    ".venv/bin/python3.11 -Ic 'x'",
    "./venv/bin/python3 - <<E\nx\nE",
    "./node_modules/.bin/tsx -e 'x'",
    "/work/project/node_modules/.bin/tsx -e 'x'",
    "./fish -c 'x'",
    // Words that stay words.
    "env -S '-u X' sudo",
    "env -S 'x\\_y'",
    "env -S '\"x'",
    "watch -x sh -c 'A=1 sudo ls'",
    "watch --inter 5 sudo ls",
    // A setting that makes other words options, and labels that end at a blank.
    "POSIXLY_CORRECT=1 sed '1e sudo ls' -e p a.txt",
    "POSIXLY_CORRECT=1 sed '1e sudo ls' -f x a.txt",
    "export POSIXLY_CORRECT=1; sed '1e sudo ls' -e p a.txt",
    "env POSIXLY_CORRECT=1 sed '1e sudo ls' -e p a.txt",
    "echo x | sed ':x e sudo ls'",
    "sed ':x\tw keep/x' a.txt",
    "sed ':x\nt x e sudo ls' a.txt",
    "sed ':x\nb x} w keep/x' a.txt",
    "sed -e 'a\\' -e 's/\ne sudo ls\n#/x/' a.txt",
    // What was taken for a text of awk, or for no program at all.
    "awk '{print /\"/ | \"sudo ls\"; x = /\"/}' a.txt",
    "awk '{if (1) /\"/; print \"a\" | \"sudo ls\"; y = \"/\"}' a.txt",
    "awk '{if (1) /\"/ && x; y = 1 | \"sudo ls\"; z = /\"/}' a.txt",
    "awk '/[/]\"/{print 1} {print \"a\" | \"sudo ls\"} /\"/' a.txt",
    "awk -- '-F==0{system(\"sudo ls\")}' a.txt",
    "echo 'x' | mawk -W exec /dev/stdin",
    "echo 'x' | mawk -Wexec /dev/stdin",
    "awk --fil /dev/stdin a.txt",
    "awk 'BEGIN{print 1 \\\n>\"keep/x\"}'",
    "awk 'BEGIN{print 1,\n2 > \"keep/x\"}'",
    "awk 'BEGIN{ARGV[ARGC++]=\"private/key\"} 1'",
    // Options of git that only seem to read.
    "git config --show-scope core.fsmonitor 'sudo ls;false' && git status",
    "git config --show-names core.fsmonitor 'sudo ls'",
    "git config --null --show-scope core.fsmonitor 'sudo ls'",
    "git config --comment --get core.fsmonitor 'sudo ls'",
    "git config --comm --get core.fsmonitor 'sudo ls'",
    "git config core.fsmonitor -- '--get;sudo ls'",
    // Shells and their builtins.
    "bash -rcfile x -c 'sudo ls'",
    "bash -init-file x -c 'sudo ls'",
    ". -- /dev/stdin <<E\nsudo ls\nE",
    "source -- /dev/stdin <<< 'sudo ls'",
    "hash -rp /tmp/evil/sudo ls; ls",
    "hash -dp /tmp/evil/sudo ls",
    "builtin hash -rp /tmp/evil/sudo ls",
    // Options cut short.
    "split --f='sudo ls' a.txt",
    "sort --c='sudo ls' a.txt",
    // Variables, rules and files of make.
    "make CC=sudo x",
    "make CC:=sudo x",
    "make CC::=sudo x",
    "make 'CC = sudo' x",
    "make 'CC!=x' y",
    "make SHELL:=./x y",
    "make PATH=/tmp/x y",
    "make RM=sudo",
    "make YACC='sudo ls' y.c",
    "make COMPILE.c='sudo ls' x.o",
    "make LINK.c='sudo ls' x",
    "env COMPILE.c='sudo ls' make x.o",
    "make --fil=-",
    "make -sf-",
    "make -sf/dev/stdin",
    "make -E 'x:;sudo ls' x",
    "make -sE 'x:;sudo ls' x",
    // Others.
    "install -s --strip-program=sudo a b",
    "sdiff --diff-program=sudo a b",
    "diff3 --diff-program=sudo a b c",
    "zip -TqTT sudo x.zip a.txt",
    "zip -T -q'TT' 'sudo' x.zip a.txt",
    "ZIPOPT='-T -TT sudo' zip x.zip a.txt",
    "ZIP='-T -TT sudo' zip x.zip a.txt",
    "GREP=sudo zgrep x a.txt",
    "DIFF=sudo zdiff a b",
    "Npm_Config_script_shell=/x/sudo npm run t",
    "npm config --location project set script-shell /x; npm run t",
    "npm conf --location=project set script-shell=/x",
    "npm exe -c 'sudo ls'",
    "npm exe sudo ls",
    "sqlite3 :memory: '. shell sudo ls'",
    "sqlite3 :memory: '.\"shell\" sudo ls'",
    "sqlite3 :memory: '.\"\\163hell\" sudo ls'",
    "sqlite3 :memory: <<< '.shell sudo ls'",
    "scp -D sudo a x:y",
    "less --lesskey-src=lk a",
    "prove --exec 'sudo ls' a",
    "prove -e 'sudo ls' a",
    "gpg-agent --daemon sudo ls",
    "sotruss sudo ls",
    "scriptlive -c 'sudo ls'",
    "dpkg --pre-invoke='sudo ls' -i x.deb",
];

/// Whose inner commands are on the deny list.
const DENIED: &[&str] = &[
    "./bash -c 'rm -rf /'",
    "bin/sh -c 'sudo ls'",
    "env -S '-i /usr/bin/sudo ls'",
    "env -S '-u X sudo ls'",
    "env -S -- sudo ls",
    "env -S sh -c 'A=1 sudo ls'",
    "env -S sh -c '! sudo ls'",
    "env -S '-S \"sudo ls\"'",
    "git submodule foreach sh -c 'A=1 sudo ls'",
    "eval -- sudo ls",
    "eval -- 'sudo ls'",
    "command eval -- sudo ls",
    "builtin -- eval -- 'sudo ls'",
    "bash +c 'sudo ls'",
    "sh +c 'sudo ls'",
    "sh +ec 'sudo ls'",
    "bash -e +c 'sudo ls'",
    "jobs -x -- sudo ls",
    "jobs -rx sudo ls",
    "jobs -r -x sudo ls",
];

const HARMLESS: &[&str] = &[
    "python3 -W ignore x.py -c y",
    "python3 -u -X utf8 x.py",
    "python3 -m cProfile -o out.prof x.py",
    "python3 -m pytest -c pytest.ini -W error",
    "python3 -m trace --count x.py",
    "node --experimental-vm-modules node_modules/.bin/jest",
    "node --env-file .env x.js",
    "node --inspect x.js -p 3000",
    "Rscript --vanilla x.R",
    "php -f x.php",
    "perl -I lib x.pl -e y",
    "./run.sh -c x",
    ".venv/bin/python x.py -c y",
    ".venv/bin/python -m pytest -q",
    ".venv/bin/pytest -c x",
    "./node_modules/.bin/tsc --noEmit",
    "./r",
    "env -S 'make test'",
    "watch -n 5 ls",
    "git submodule foreach git pull origin main",
    "sed ':a;N;$!ba;s/\\n/ /g' x",
    "sed -e :a -e '$!N;s/\\n//;ta' x",
    "sed ':a s/x/y/;ta' x",
    "awk '{ print $1 / 2, (a + b) / 2; n = x / y }' f",
    "awk '{ if ($1 ~ /x/) print \"a\"; else print \"b\" }' f",
    "awk '{ gsub(/[a-z]+/, \"\"); print }' f",
    "awk -F- '{ print $1 }' f",
    "awk -v OFS=- '{ print $1,\n$2 }' f",
    "mawk -W interactive '{ print }' f",
    "git config --show-origin --get core.pager",
    "git config --show-scope --list",
    "git config -f .gitmodules --get submodule.x.path",
    "git config --unset user.name",
    "hash -r",
    "jobs -l %1",
    "bash -e -c 'ls'",
    "make CC=gcc",
    "make CC=clang CFLAGS=-O2",
    "make PREFIX=/x install",
    "make -C sub -f build.mk -j4",
    "make -CExamples",
    "cp --target-directory=keep a.txt",
    "sort --r x",
    "npm config set registry https://example.com",
    "npm run set",
    "sqlite3 x < schema.sql",
    "sqlite3 x <<< 'select 1;'",
    "zip -qr x.zip src",
    "install -m 755 a b",
    "dpkg --print-architecture",
    "less -R a",
    "GREP=ggrep ./x.sh",
];

#[test]
fn a_program_behind_options_and_settings_is_seen() {
    let allowed: Vec<_> = STOPPED.iter().filter(|command| action(command) == Action::Allow).collect();
    let not_denied: Vec<_> = DENIED.iter().filter(|command| action(command) != Action::Deny).collect();
    assert_eq!((allowed, not_denied), (Vec::<&&str>::new(), Vec::<&&str>::new()));
}

#[test]
fn options_and_settings_that_start_nothing_are_allowed() {
    let stopped: Vec<_> = HARMLESS
        .iter()
        .map(|command| (*command, analyze(command, &context()).verdict))
        .filter(|(_, verdict)| verdict.action != Action::Allow)
        .collect();
    assert_eq!(stopped, Vec::new());
}

#[test]
fn a_target_directory_by_any_beginning_of_its_option_is_written() {
    let analysis = analyze("cp --t=keep a.txt", &context());
    assert!(analysis.writes.iter().any(|path| path.starts_with("keep")), "{analysis:?}");
}
