//! The cases that every backend answers in the same words. A number in parentheses is a regression case of the systems
//! that gloveport follows; the identifiers are their defects.

use crate::steps::Step::{
    Append, Bytes, Copy, Edit, FailToEdit, Glob, Grep, List, Mkdir, Read, Remove, RemoveAll, Rename, Resolve, Stat,
    Write,
};
use crate::steps::{Step, glob, grep, read};
use gloveport_core::search::{CaseMode, EntryFilter};

/// A name, and steps with their answers.
pub(crate) type Case = (&'static str, &'static [(Step, &'static str)]);

/// All cases. Each begins with an empty directory.
pub(crate) const CASES: &[Case] = &[
    (
        "a write creates, then replaces",
        &[
            (Write("a.txt", b"one\n"), "created 4"),
            (Write("a.txt", b"other\n"), "replaced 6"),
            (read("a.txt"), r#""other\n" 1 of 1, 6 bytes"#),
            (Stat("a.txt"), "/a.txt a.txt file 6"),
        ],
    ),
    (
        "a write makes parents",
        &[
            (Write("a/b/c.txt", b"x"), "created 1"),
            (Stat("a"), "/a a directory 0"),
            (List("", 9), "/a/ /a/b/ /a/b/c.txt:1"),
        ],
    ),
    (
        "an empty file is not a missing one (17, D1)",
        &[
            (Write("empty", b""), "created 0"),
            (read("empty"), r#""" 0 of 0, 0 bytes"#),
            (Stat("empty"), "/empty empty file 0"),
            (Bytes("empty", 10), ""),
            (read("missing"), "FILE_NOT_FOUND /missing"),
            (Stat("missing"), "nothing"),
            (Resolve("missing"), "/missing nothing"),
        ],
    ),
    (
        "a last line end makes no further line (D13)",
        &[
            (Write("a", b"one\ntwo\n"), "created 8"),
            (read("a"), r#""one\ntwo\n" 2 of 2, 8 bytes"#),
            (Write("a", b"one\ntwo"), "replaced 7"),
            (read("a"), r#""one\ntwo" 2 of 2, 7 bytes"#),
            (Write("a", b"\n"), "replaced 1"),
            (read("a"), r#""\n" 1 of 1, 1 bytes"#),
        ],
    ),
    (
        "windows count lines from 0 (18)",
        &[
            (Write("a", b"0\n1\n2\n3\n4\n"), "created 10"),
            (Read("a", 0, 2, 1000), r#""0\n1\n" 2 of 5, 10 bytes, next 2, truncated"#),
            (Read("a", 3, 9, 1000), r#""3\n4\n" 2 of 5, 10 bytes"#),
            (Read("a", 1, 9, 4), r#""1\n2\n" 2 of 5, 10 bytes, next 3, truncated"#),
            (Read("a", 0, 0, 1000), "INVALID_INPUT /a"),
            (Read("a", 6, 1, 1000), "INVALID_INPUT /a"),
        ],
    ),
    (
        "carriage returns belong to their lines (D3, D4, 30)",
        &[
            (Write("a", b"one\r\ntwo\r\nlone\rcr\n"), "created 18"),
            (read("a"), r#""one\r\ntwo\r\nlone\rcr\n" 3 of 3, 18 bytes"#),
            (Edit("a", "two", "2"), "edited 16"),
            (Bytes("a", 100), r"one\r\n2\r\nlone\rcr\n"),
        ],
    ),
    (
        "binary content is exact, and no text (6, D15)",
        &[
            (Write("a.bin", b"\x00\xff\x80 \r\n\x00"), "created 7"),
            (Bytes("a.bin", 7), r"\x00\xff\x80 \r\n\x00"),
            (read("a.bin"), "BINARY_FILE /a.bin"),
            (Bytes("a.bin", 6), "FILE_TOO_LARGE /a.bin"),
        ],
    ),
    (
        "a failed change leaves the file, or its absence, alone",
        &[
            (Write("a", b"kept"), "created 4"),
            (FailToEdit("a"), "EDIT_FAILED -"),
            (Bytes("a", 10), "kept"),
            (FailToEdit("b/c"), "EDIT_FAILED -"),
            (Stat("b/c"), "nothing"),
            (Edit("b/c", "x", "y"), "FILE_NOT_FOUND /b/c"),
        ],
    ),
    (
        "append adds, creates, and makes parents",
        &[
            (Append("log/a", b"one\n"), "created 4"),
            (Append("log/a", b"\xfftwo"), "appended 8"),
            (Append("log/a", b""), "appended 8"),
            (Bytes("log/a", 100), r"one\n\xfftwo"),
            (Append("log", b"x"), "NOT_A_FILE /log"),
        ],
    ),
    (
        "directories are no files",
        &[
            (Mkdir("d"), "made"),
            (read("d"), "NOT_A_FILE /d"),
            (Bytes("d", 10), "NOT_A_FILE /d"),
            (Write("d", b"x"), "NOT_A_FILE /d"),
            (Edit("d", "x", "y"), "NOT_A_FILE /d"),
            (Copy("d", "e"), "NOT_A_FILE /d"),
            (Resolve("d"), "/d directory"),
        ],
    ),
    (
        "a name is never both file and directory (D14)",
        &[
            (Write("y/z", b"1"), "created 1"),
            (Write("y", b"2"), "NOT_A_FILE /y"),
            (Write("y/z/below", b"3"), "NOT_A_DIRECTORY /y/z/below"),
            (Mkdir("y/z"), "ALREADY_EXISTS /y/z"),
            (Mkdir("y/z/below"), "NOT_A_DIRECTORY /y/z/below"),
            (Append("y/z/below", b"3"), "NOT_A_DIRECTORY /y/z/below"),
            (Stat("y/z/below"), "nothing"),
            (Resolve("y/z/below"), "/y/z/below nothing"),
            (List("", 9), "/y/ /y/z:1"),
        ],
    ),
    (
        "what lies below a file cannot be read",
        &[
            (Write("y", b"1"), "created 1"),
            (read("y/below"), "NOT_A_DIRECTORY /y/below"),
            (List("y/below", 1), "FILE_NOT_FOUND /y/below"),
            (Remove("y/below"), "NOT_A_DIRECTORY /y/below"),
            (Glob("*", "y/below", |_| {}), "FILE_NOT_FOUND /y/below"),
            (Grep("1", "y/below", |_| {}), "FILE_NOT_FOUND /y/below"),
        ],
    ),
    (
        "names are literal (D12, 11)",
        &[
            (Write("ok..name", b"1"), "created 1"),
            (Write("~", b"2"), "created 1"),
            (Write("c:", b"3"), "created 1"),
            (Write(" two  spaces ", b"4"), "created 1"),
            (Write("-rf", b"5"), "created 1"),
            (Write("a\\b", b"6"), "created 1"),
            (Write("x=y -> z", b"7"), "created 1"),
            (Write("$HOME `id`;'\"", b"8"), "created 1"),
            (Write("[a]{b,c}*?!#", b"9"), "created 1"),
            (Write("Ü-日本-🦀", b"10"), "created 2"),
            (Write("__proto__", b"11"), "created 2"),
            (Bytes("x=y -> z", 9), "7"),
            (Bytes("$HOME `id`;'\"", 9), "8"),
            (Bytes("__proto__", 9), "11"),
            (
                List("", 1),
                "/ two  spaces :1 /$HOME `id`;'\":1 /-rf:1 /[a]{b,c}*?!#:1 /__proto__:2 /a\\b:1 /c::1 /ok..name:1 \
                 /x=y -> z:1 /~:1 /Ü-日本-🦀:2",
            ),
        ],
    ),
    (
        "paths are normalised before they are used (4)",
        &[
            (Write("./a//b/../c.txt", b"1"), "created 1"),
            (List(".", 2), "/a/ /a/c.txt:1"),
            (Bytes("a/./c.txt", 9), "1"),
            (Stat("a/c.txt/"), "/a/c.txt c.txt file 1"),
        ],
    ),
    (
        "a listing shows directories first, then names, level by level",
        &[
            (Write("b.txt", b"1"), "created 1"),
            (Write(".hidden", b"22"), "created 2"),
            (Write("z/inner/deep.txt", b"333"), "created 3"),
            (Write("z/a.txt", b""), "created 0"),
            (Mkdir("empty"), "made"),
            (List("", 1), "/empty/ /z/ /.hidden:2 /b.txt:1"),
            (List("", 2), "/empty/ /z/ /z/inner/ /z/a.txt:0 /.hidden:2 /b.txt:1"),
            (List("z", 5), "/z/inner/ /z/inner/deep.txt:3 /z/a.txt:0"),
            (List("b.txt", 1), "/b.txt:1"),
            (List("empty", 3), ""),
            (List("missing", 1), "FILE_NOT_FOUND /missing"),
        ],
    ),
    (
        "mkdir makes parents and minds no existing directory",
        &[
            (Mkdir("a/b/c"), "made"),
            (Mkdir("a/b/c"), "existed"),
            (Mkdir("a"), "existed"),
            (List("", 9), "/a/ /a/b/ /a/b/c/"),
        ],
    ),
    (
        "remove takes a file, an empty directory, or all when asked",
        &[
            (Write("d/a", b"1"), "created 1"),
            (Write("d/e/b", b"2"), "created 1"),
            (Remove("d/a"), "removed 1"),
            (Remove("d"), "DIRECTORY_NOT_EMPTY /d"),
            (RemoveAll("d"), "removed 3"),
            (Stat("d"), "nothing"),
            (Remove("d"), "FILE_NOT_FOUND /d"),
            (Mkdir("f"), "made"),
            (Remove("f"), "removed 1"),
            (Write("g", b""), "created 0"),
            (RemoveAll("g"), "removed 1"),
        ],
    ),
    (
        "a directory stays when its last file goes",
        &[(Write("d/a", b"1"), "created 1"), (Remove("d/a"), "removed 1"), (Stat("d"), "/d d directory 0")],
    ),
    (
        "rename moves files and directories to free names",
        &[
            (Write("a", b"1"), "created 1"),
            (Write("d/x/y", b"2"), "created 1"),
            (Rename("a", "new/parents/a"), "moved"),
            (Rename("d", "new/d"), "moved"),
            (List("", 9), "/new/ /new/d/ /new/d/x/ /new/d/x/y:1 /new/parents/ /new/parents/a:1"),
            (Rename("missing", "z"), "FILE_NOT_FOUND /missing"),
            (Rename("new/d", "new/parents"), "ALREADY_EXISTS /new/parents"),
            (Rename("new/parents/a", "new/d/x/y"), "ALREADY_EXISTS /new/d/x/y"),
            (Rename("new/d", "new/d"), "INVALID_INPUT /new/d"),
            (Rename("new/d", "new/d/inside"), "INVALID_INPUT /new/d/inside"),
            (Rename("new/d", "new/parents/a/below"), "NOT_A_DIRECTORY /new/parents/a/below"),
        ],
    ),
    (
        "copy copies one file to a free name",
        &[
            (Write("a", b"\x00one\r\n"), "created 6"),
            (Copy("a", "to/b"), "copied 6"),
            (Bytes("to/b", 9), r"\x00one\r\n"),
            (Append("a", b"more"), "appended 10"),
            (Bytes("to/b", 9), r"\x00one\r\n"),
            (Copy("a", "to/b"), "ALREADY_EXISTS /to/b"),
            (Copy("a", "a"), "ALREADY_EXISTS /a"),
            (Copy("missing", "c"), "FILE_NOT_FOUND /missing"),
            (Copy("a", "a/below"), "NOT_A_DIRECTORY /a/below"),
        ],
    ),
    (
        "glob matches names by pattern (12, 13, D7, D8)",
        &[
            (Write("top.ts", b"1"), "created 1"),
            (Write("src/a.ts", b"1"), "created 1"),
            (Write("src/b.js", b"1"), "created 1"),
            (Write("src/deep/c.ts", b"1"), "created 1"),
            (Write("src/.hidden/d.ts", b"1"), "created 1"),
            (Write(".env", b"1"), "created 1"),
            (Write("two words/e.ts", b"1"), "created 1"),
            (glob("*.ts"), "/top.ts of 1"),
            (glob("**/*.ts"), "/src/a.ts /src/deep/c.ts /top.ts /two words/e.ts of 4"),
            (glob("**/*"), "/src/a.ts /src/b.js /src/deep/c.ts /top.ts /two words/e.ts of 5"),
            (glob("**"), "/src/a.ts /src/b.js /src/deep/c.ts /top.ts /two words/e.ts of 5"),
            (glob("src/*.{ts,js}"), "/src/a.ts /src/b.js of 2"),
            (glob("src/[!a].*"), "/src/b.js of 1"),
            (glob("src/?.ts"), "/src/a.ts of 1"),
            (glob(".*"), "/.env of 1"),
            (glob("src/.hidden/*"), "/src/.hidden/d.ts of 1"),
            (Glob("*", "src", |_| {}), "/src/a.ts /src/b.js of 2"),
            (Glob("deep/*", "src", |_| {}), "/src/deep/c.ts of 1"),
            (Glob("**", "", |query| query.entries = EntryFilter::Directories), "/src /src/deep /two words of 3"),
            (
                Glob("**", "", |query| query.hidden = true),
                "/.env /src/.hidden/d.ts /src/a.ts /src/b.js /src/deep/c.ts /top.ts /two words/e.ts of 7",
            ),
            (
                Glob("**/*.ts", "", |query| (query.offset, query.limit) = (1, 2)),
                "/src/deep/c.ts /top.ts of 4, truncated",
            ),
            (Glob("*", "missing", |_| {}), "FILE_NOT_FOUND /missing"),
            (glob("nothing-here-*"), " of 0"),
        ],
    ),
    (
        "grep finds lines (3, D5, D6)",
        &[
            (Write("a.txt", b"one\nTwo\nthree one\n"), "created 18"),
            (Write("src/b.ts", b"const one = 'x:y'\r\n-n --flag\n"), "created 29"),
            (Write("src/bin", b"one\x00one\n"), "created 8"),
            (Write(".env", b"one=secret\n"), "created 11"),
            (Write("odd:1:name", b"one\n"), "created 4"),
            (
                grep("one"),
                "/a.txt:1:one /a.txt:3:three one /odd:1:name:1:one /src/b.ts:1:const one = 'x:y' [/a.txt 2] [/odd:1:name \
                 1] [/src/b.ts 1] 4 in 3",
            ),
            (grep("^one$"), "/a.txt:1:one /odd:1:name:1:one [/a.txt 1] [/odd:1:name 1] 2 in 2"),
            (grep("-n"), "/src/b.ts:2:-n --flag [/src/b.ts 1] 1 in 1"),
            (grep("'x:y'"), "/src/b.ts:1:const one = 'x:y' [/src/b.ts 1] 1 in 1"),
            (Grep("two", "", |query| query.case = CaseMode::Insensitive), "/a.txt:2:Two [/a.txt 1] 1 in 1"),
            (
                Grep("one", "", |query| query.globs = vec!["*.ts".to_owned()]),
                "/src/b.ts:1:const one = 'x:y' [/src/b.ts 1] 1 in 1",
            ),
            (Grep("one", "src", |_| {}), "/src/b.ts:1:const one = 'x:y' [/src/b.ts 1] 1 in 1"),
            (Grep("one", "", |query| query.files_only = true), "[/a.txt 1] [/odd:1:name 1] [/src/b.ts 1] 3 in 3"),
            (Grep("one", "", |query| query.count_only = true), "[/a.txt 2] [/odd:1:name 1] [/src/b.ts 1] 4 in 3"),
            (
                Grep("Two", "", |query| (query.before, query.after) = (1, 1)),
                "/a.txt-1-one /a.txt:2:Two /a.txt-3-three one [/a.txt 1] 1 in 1",
            ),
            (grep("[unclosed"), "INVALID_INPUT -"),
            (grep("no such text"), "0 in 0"),
            (Grep("one", "missing", |_| {}), "FILE_NOT_FOUND /missing"),
        ],
    ),
    (
        "a hidden file that is named is searched (28)",
        &[
            (Write(".env", b"KEY=1\n"), "created 6"),
            (Write(".config/a", b"KEY=2\n"), "created 6"),
            (grep("KEY"), "0 in 0"),
            (Grep("KEY", ".env", |_| {}), "/.env:1:KEY=1 [/.env 1] 1 in 1"),
            (Grep("KEY", ".config", |_| {}), "/.config/a:1:KEY=2 [/.config/a 1] 1 in 1"),
            (
                Grep("KEY", "", |query| query.hidden = true),
                "/.config/a:1:KEY=2 /.env:1:KEY=1 [/.config/a 1] [/.env 1] 2 in 2",
            ),
        ],
    ),
    (
        "ignore files are honoured without a repository",
        &[
            (Write(".gitignore", b"*.log\nbuild/\n"), "created 13"),
            (Write("a.log", b"text\n"), "created 5"),
            (Write("build/out.txt", b"text\n"), "created 5"),
            (Write("kept.txt", b"text\n"), "created 5"),
            (glob("**"), "/kept.txt of 1"),
            (grep("text"), "/kept.txt:1:text [/kept.txt 1] 1 in 1"),
            (Glob("**", "", |query| query.respect_ignore = false), "/a.log /build/out.txt /kept.txt of 3"),
        ],
    ),
    (
        "a long line is bounded by bytes",
        &[
            (Write("a", b"0123456789\nnext\n"), "created 16"),
            (Read("a", 0, 9, 4), r#""0123" 1 of 2, 16 bytes, next 1, truncated"#),
        ],
    ),
];
