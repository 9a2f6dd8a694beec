//! The language of patterns, by its recorded samples and against a reference that tries everything.

use proptest::prelude::*;

use super::super::pattern::{Pattern, Slash};
use super::*;

#[test]
fn matches_every_recorded_pattern() {
    let vectors = vectors();
    let mut count = 0;
    for case in vectors["glob"].as_array().unwrap() {
        let Some(expected) = case["match"].as_bool() else { continue };
        let (pattern, target) = (case["pattern"].as_str().unwrap(), case["target"].as_str().unwrap());
        assert_eq!(matches(pattern, target), expected, "{pattern:?} on {target:?}");
        count += 1;
    }
    assert!(count > 90);
}

#[test]
fn matches_as_the_recorded_expressions_do() {
    let vectors = vectors();
    let targets: Vec<&str> =
        vectors["glob"].as_array().unwrap().iter().filter_map(|case| case["target"].as_str()).collect();
    for case in vectors["glob"].as_array().unwrap() {
        let Some(recorded) = case["regex"].as_str() else { continue };
        let recorded = regex_automata::meta::Regex::new(&recorded.replace("\\ ", " ")).unwrap();
        let pattern = case["pattern"].as_str().unwrap();
        for target in &targets {
            // D21: a negated class matched `/`.
            let ours = matches(pattern, target);
            assert!(ours == recorded.is_match(target) || pattern.contains("[^"), "{pattern:?} on {target:?}");
        }
    }
}

/// D21, D23: a negated class matched `/`, so that a rule about one name reached into directories; earlier it matched just
/// what it excludes, and a class that makes no sense threw.
#[test]
fn a_negated_class_is_one_other_character_of_a_name() {
    for (pattern, target, expected) in [
        ("/w/a[!b]c", "/w/axc", true),
        ("/w/a[!b]c", "/w/abc", false),
        ("/w/a[!b]c", "/w/a/c", false),
        ("/w/a[^b]c", "/w/a/c", false),
        ("/w/[!a-m]*", "/w/z", true),
        ("/w/[!a-m]*", "/w/b", false),
        ("/w/[", "/w/[", true),
        ("/w/[!", "/w/[!", true),
        ("/w/[z-a]", "/w/b", false),
        ("/w/[!z-a]", "/w/z-a", false),
    ] {
        assert_eq!(matches(pattern, target), expected, "{pattern} on {target}");
    }
}

/// The language as its table says it, by trying everything.
fn reference(pattern: &[char], target: &[char]) -> bool {
    let Some(&first) = pattern.first() else { return target.is_empty() };
    if pattern.starts_with(&['*', '*', '/']) {
        return reference(&pattern[3..], target)
            || (0..target.len()).any(|i| target[i] == '/' && reference(&pattern[3..], &target[i + 1..]));
    }
    if pattern.starts_with(&['*', '*']) {
        return (0..=target.len()).any(|i| reference(&pattern[2..], &target[i..]));
    }
    if first == '*' {
        return (0..=target.len())
            .take_while(|i| !target[..*i].contains(&'/'))
            .any(|i| reference(&pattern[1..], &target[i..]));
    }
    let Some(&character) = target.first() else { return false };
    if first == '?' {
        return character != '/' && reference(&pattern[1..], &target[1..]);
    }
    if first == '[' {
        let negated = matches!(pattern.get(1), Some('!' | '^'));
        let start = if negated { 2 } else { 1 };
        if let Some(end) = (start + 1..pattern.len()).find(|i| pattern[*i] == ']') {
            let members = &pattern[start..end];
            let (mut found, mut i) = (false, 0);
            while i < members.len() {
                let range = i + 2 < members.len() && members[i + 1] == '-';
                let high = if range { members[i + 2] } else { members[i] };
                found |= (members[i]..=high).contains(&character);
                i += if range { 3 } else { 1 };
            }
            let hit = if negated { !found && character != '/' } else { found };
            return hit && reference(&pattern[end + 1..], &target[1..]);
        }
    }
    first == character && reference(&pattern[1..], &target[1..])
}

proptest! {
    #[test]
    fn agrees_with_a_reference_that_tries_everything(pattern in r"[ab/*?\[\]!^é\n.-]{0,9}", target in r"[ab/é\n.!-]{0,8}") {
        let characters = |text: &str| text.chars().collect::<Vec<_>>();
        prop_assert_eq!(matches(&pattern, &target), reference(&characters(&pattern), &characters(&target)));
    }

    #[test]
    fn every_pattern_can_be_built_and_matched(pattern in ".{0,60}", target in ".{0,60}") {
        for slash in [Slash::Divides, Slash::IsCharacter] {
            let pattern = Pattern::ordered([(pattern.as_str(), slash)].into_iter()).unwrap();
            let _ = pattern.matches(&target);
        }
    }

    #[test]
    fn matches_itself_when_nothing_is_special(text in r"[a-zA-Z0-9 /.+(){}|^$\\é-]{0,30}") {
        prop_assert!(matches(&text, &text));
        let folding = format!("(?i){text}");
        prop_assert!(matches(&folding, &text.to_ascii_uppercase()));
    }
}

#[test]
fn a_hostile_pattern_takes_no_longer() {
    let pattern = Pattern::new(&"*a".repeat(500)).unwrap();
    assert!(!pattern.matches(&"a".repeat(499)));
    assert!(!pattern.matches(&"b".repeat(100_000)));
    assert!(!matches(&"**/*a".repeat(50), &"b/".repeat(5_000)));
}

// --- commands ----------------------------------------------------------------------------------------------------------

proptest! {
    /// A target that is partly known is never judged more laxly than what it turns out to be.
    #[test]
    fn what_may_match_covers_what_does(pattern in r"[ab/*?\[\].]{0,8}", target in r"[ab/.]{0,6}", start in 0usize..7, length in 0usize..4) {
        let shape = super::super::shape::Shape::new(&pattern, Slash::Divides);
        let (start, end) = (start.min(target.len()), (start + length).min(target.len()));
        for marker in [super::super::shape::ANYTHING, super::super::shape::ANY_NAME] {
            let begins_name = start == 0 || target[..start].ends_with('/');
            let hidden = begins_name && target[start..end].starts_with('.');
            if marker == super::super::shape::ANY_NAME && (hidden || target[start..end].contains('/')) {
                continue;
            }
            let partly = format!("{}{marker}{}", &target[..start], &target[end..]);
            let reach = shape.reach(&partly, &super::super::steps::Steps::of_a_command());
            let does = matches(&pattern, &target);
            prop_assert!(!does || reach != super::super::shape::Reach::Never, "{pattern:?} {target:?} {partly:?}");
            prop_assert!(does || reach != super::super::shape::Reach::Always, "{pattern:?} {target:?} {partly:?}");
        }
    }
}

/// CVE-2025-59944: on a volume that takes `.ENV` for `.env`, the rule about one did not hold for the other.
#[test]
fn where_names_fold_a_rule_about_a_path_is_about_every_case_of_its_letters() {
    let rules = [Rule::new("**/.env", Action::Deny), Rule::new("(?i)**/readme", Action::Deny)];
    for (folds, target, expected) in [
        (false, "/p/.env", Some(0)),
        (false, "/p/.ENV", None),
        (true, "/p/.ENV", Some(0)),
        (true, "/p/.Env", Some(0)),
        (true, "/p/README", Some(1)),
        (true, "/p/env", None),
    ] {
        let patterns = super::super::checker::compile(Operation::Write, &rules, folds).unwrap().unwrap();
        assert_eq!(patterns.first_match(target), expected, "{target}, {folds}");
    }
    let command = super::super::checker::compile(Operation::Execute, &rules, true).unwrap().unwrap();
    assert_eq!(command.first_match("/p/.ENV"), None, "commands are compared as they are");
}
