use proptest::prelude::*;

use super::*;

/// Whether `path` (relative, `/`-separated) is matched, name by name as a walk does it.
fn matches(pattern: &str, path: &str, hidden: bool) -> bool {
    let set = PatternSet::new([Glob::parse(pattern, Reach::Here).unwrap()]);
    let mut positions = set.start();
    let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
    for parent in parents.split('/').filter(|parent| !parent.is_empty()) {
        positions = set.enter(&positions, parent.as_bytes(), hidden).0;
    }
    set.matches(&positions, name.as_bytes(), hidden) != Hit::No
}

/// The plainest matcher there is: tries every way, on whole segments and characters. Knows no braces.
fn reference(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        (["**"], path) => !path.is_empty(),
        (["**", rest @ ..], _) => (0..=path.len()).any(|taken| reference(rest, &path[taken..])),
        ([segment, rest @ ..], [name, below @ ..]) => {
            let segment: Vec<char> = segment.chars().collect();
            let name: Vec<char> = name.chars().collect();
            reference_name(&segment, &name) && reference(rest, below)
        }
        _ => false,
    }
}

fn reference_name(segment: &[char], name: &[char]) -> bool {
    match (segment, name) {
        ([], []) => true,
        (['*', rest @ ..], _) => (0..=name.len()).any(|taken| reference_name(rest, &name[taken..])),
        (['?', rest @ ..], [_, below @ ..]) => reference_name(rest, below),
        (['[', '!', a, ']', rest @ ..], [c, below @ ..]) => a != c && reference_name(rest, below),
        (['[', a, b, ']', rest @ ..], [c, below @ ..]) => (a == c || b == c) && reference_name(rest, below),
        ([p, rest @ ..], [c, below @ ..]) => p == c && *p != '[' && reference_name(rest, below),
        _ => false,
    }
}

/// A segment of a pattern over a small alphabet, so that matches are common.
fn segment() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("ä".to_owned()),
        Just("*".to_owned()),
        Just("?".to_owned()),
        Just("[ab]".to_owned()),
        Just("[!a]".to_owned()),
    ];
    prop_oneof![
        1 => Just("**".to_owned()),
        3 => prop::collection::vec(piece, 1..5).prop_map(|pieces| pieces.concat())
            .prop_map(|text| if text.chars().all(|c| c == '*') { "*".to_owned() } else { text.replace("**", "*") }),
    ]
}

fn path() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[abä]{1,4}", 1..5)
}

proptest! {
    #[test]
    fn agrees_with_a_brute_force_matcher(segments in prop::collection::vec(segment(), 1..5), path in path()) {
        let mut plain: Vec<&str> = segments.iter().map(String::as_str).collect();
        plain.dedup_by(|next, before| *next == "**" && *before == "**");
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        prop_assert_eq!(matches(&segments.join("/"), &path.join("/"), false), reference(&plain, &names));
    }

    #[test]
    fn agrees_with_globset(segments in prop::collection::vec(segment(), 1..5), path in path()) {
        // Its classes match single bytes and, negated, a `/`: only plain classes of ASCII can be compared.
        let text = segments.join("/").replace('ä', "c").replace("[!a]", "[bc]");
        let path: Vec<String> = path.iter().map(|name| name.replace('ä', "c")).collect();
        let other = globset::GlobBuilder::new(&text).literal_separator(true).build().unwrap().compile_matcher();
        prop_assert_eq!(matches(&text, &path.join("/"), false), other.is_match(path.join("/")));
    }

    #[test]
    fn braces_are_the_union_of_their_choices(
        head in segment(), one in segment(), other in segment(), tail in segment(), path in path(),
    ) {
        prop_assume!([&head, &one, &other, &tail].iter().all(|part| *part != "**"));
        let choice = |middle: &str| matches(&format!("{head}{middle}/{tail}"), &path.join("/"), false);
        let braced = choice(&format!("{{{one},{other}}}"));
        prop_assert_eq!(braced, choice(&one) || choice(&other));
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>(), path in path()) {
        if let Ok(glob) = Glob::parse(&text, Reach::AnyDepth) {
            let set = PatternSet::new([glob]);
            let (positions, _) = set.enter(&set.start(), path[0].as_bytes(), true);
            let _ = set.matches(&positions, b"x", true);
        }
    }
}

#[test]
fn nested_braces_neither_recurse_nor_explode() {
    let deep = format!("{}a{}", "{".repeat(4000), "}".repeat(4000));
    assert!(matches(&deep, "a", false));
    let wide = format!("{{{}}}", (0..256).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    assert!(matches(&wide, "255", false));
    for refused in [
        format!("{{{}}}", (0..257).map(|n| n.to_string()).collect::<Vec<_>>().join(",")),
        "{a,b}".repeat(1000),
        format!("{}{}", "{a,b}".repeat(8), "x".repeat(8000)),
        "{a,{b,{c,{d,".repeat(700),
    ] {
        assert!(Glob::parse(&refused, Reach::Here).is_err());
    }
}

#[test]
fn stars_do_not_backtrack_for_ever() {
    let text = "a*".repeat(100) + "b";
    assert!(!matches(&text, &"a".repeat(255), false));
    let deep = "**/a/".repeat(1000) + "b";
    assert!(!matches(&deep, "a/".repeat(1000).trim_end_matches('/'), false));
}

#[test]
fn a_dot_is_matched_when_it_is_named() {
    for (text, path, hidden, expected) in [
        ("*", ".a", false, false),
        ("*", ".a", true, true),
        (".*", ".a", false, true),
        ("[.]a", ".a", false, false),
        ("?a", ".a", false, false),
        ("**/b", ".a/b", false, false),
        ("**/.a/**", "x/.a/b", false, true),
        ("**/.a/**", "x/.a/.b", false, false),
        ("{.a,c}/b", ".a/b", false, true),
    ] {
        assert_eq!(matches(text, path, hidden), expected, "{text} {path} {hidden}");
    }
}
