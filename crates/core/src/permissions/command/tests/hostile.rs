//! Texts made to take long, for tests that count steps and for the benchmark that takes the time.

/// What it is, and a text as its start, what comes again and again (with its number for `%`), and its end.
pub(crate) const HOSTILE: &[(&str, &str, &str, &str)] = &[
    ("files", "cat", " f%", ""),
    ("terminals behind an option", "cat -", "/dev/x", "/*"),
    ("files from many directories", "cd a; cd b; cd c; cd d; cd e; cat", " f%", ""),
    ("directories", "", "cd d%;", ""),
    ("deletions", "rm -rf", " a/b", ""),
    ("deletions in many directories", "cd a; cd b; cd c; cd d; cd e; rm -rf", " f%", ""),
    ("trees from many directories", "cd a; cd b; cd c; cd d; cd e; cp -r", " f%", " x"),
    ("patterns from many directories", "cd a; cd b; cd c; cd d; cd e; cat", " f%*", ""),
    ("files of an unknown program", "cd a; cd b; cd c; cd d; cd e; mine", " f%", ""),
    ("unknown files", "cat", " $a/f%", ""),
    ("unknown words of commands", "", "a% $a;", ""),
    ("links", "", "ln -s a% b%;", ""),
    ("links in many directories", "cd a; cd b; cd c; cd d; cd e;", "ln -s a% b;", ""),
    ("links of links", "ln -s /usr/bin n0;", "ln -s n%/n n%1;", ""),
    ("copies", "cp -r /bin x; cp", " x/a%", " y"),
    ("one file", "cd a; cd b; cd c; cd d; cat", " f", ""),
    ("deep paths", "cat ", "a/../b/./", ""),
    ("commands", "", "a%;", ""),
    ("functions", "", "f%() { :; };", ""),
    ("calls of functions", "", "f%() { f%; };", "f1"),
    ("variables", "", "v%=x; $v%;", ""),
    ("substitutions", "", "$(a%)", ""),
    ("deep substitutions", "", "$(", ""),
    ("deep groups", "", "(", ""),
    ("deep loops", "", "while :; do ", ""),
    ("back quotes", "", "`a%`", ""),
    ("alternatives", "rm ", "{a,b}", ""),
    ("alternatives within each other", "rm ", "{a,", ""),
    ("patterns", "rm ", "*", ""),
    ("brackets", "rm ", "[a", ""),
    ("here-documents", "cat", " <<a%", ""),
    ("shells", "", "sh -c 'sh -c \"a%\"';", ""),
    ("shells in shells", "", "sh -c ", "a"),
    ("wrappers", "", "env ", "a"),
    ("xargs", "", "a | xargs sh -c b%;", ""),
    ("subscripts", "", "a[b[", ""),
    ("sums", "", "$((", ""),
    ("expansions", "", "${a:-", ""),
    ("sed", "sed '", "s/a/b/;", "'"),
    ("backups", "cp -b -S .a", " f%", " x"),
    ("backups in many directories", "cd a; cd b; cd c; cd d; cd e; sed -i'a*/*/*b' p", " f%", ""),
    ("suffixes", "cp -b", " -S a%", " b c"),
    ("packed files", "gzip -dz", " f%", ""),
    ("modules", "jq '", "include \"m%\" {search:\"s%\"};", "' f"),
    ("names of modules", "jq '", "include ", "' f"),
    ("names that are found", "find a b c d e ", "-name b% ", "-delete"),
    ("fields of a form", "curl -F 'x=@", "f%,", "' http://h"),
    ("outputs of curl", "curl -w '", "%output{f%}", "' http://h"),
    ("loads", "yq '", "load(\"f%\")", "' f"),
    ("parts of a film", "ffmpeg -i 'concat:", "f%|", "' o"),
    ("ranges of lines", "git log", " -L 1,2:f%", ""),
    ("git", "git", " -c a.b%=c", " x"),
    ("redirections", "a", " >f%", ""),
    ("quotes", "echo ", "'a'\"b\"", ""),
    ("escapes", "echo ", "\\a", ""),
    ("ansi", "echo $'", "\\x41", "'"),
    ("pipes", "", "a|", "a"),
    ("conditions", "[[ ", "a && ", "a ]]"),
    ("cases", "case a in ", "a%) b;; ", "esac"),
    ("traps", "", "trap 'a%' EXIT;", ""),
    ("evaluations", "", "eval 'eval a%';", ""),
    ("numbers", "", "x%=1; : $((x%));", ""),
    ("numbers of each other", "", "x%=$x%1;", "echo $((x1))"),
    ("loops in the background", "", "while :; do a & sleep 1; done;", ""),
    ("tests of find", "find . ", "-name x -o ", "-delete"),
    ("links below /proc", "rm -rf ", "/proc/self/cwd/../proc/self/root/a% ", ""),
    ("texts in pipes", "", "echo .a%|", "sqlite3 x"),
    ("texts out of compounds", "", "(echo a%)|sqlite3 x;", ""),
    ("groups of a pattern", "pkill '", "(a|", "'"),
    ("branches of a pattern", "pkill '", "a*{0}|", "'"),
    ("options of ip", "ip", " -n a%", " link"),
    ("options of pnpm", "pnpm", " --filter a%", " x"),
    ("options of torchrun", "torchrun", " --a b%", " x"),
    ("marks of fd", "fd -x", " {}%", ""),
    ("parts of an option of a linker", "gcc -Wl", ",-a%", " x"),
    ("options of docker", "docker ", "-H% ", "run x"),
];

/// As much of a pattern as fits into `bytes`.
pub(crate) fn filled(bytes: usize, start: &str, turn: &str, end: &str) -> String {
    let mut text = start.to_owned();
    for number in 0.. {
        let next = turn.replace('%', &number.to_string());
        if text.len() + next.len() + end.len() > bytes {
            break;
        }
        text.push_str(&next);
    }
    text + end
}
