//! The recorded answers of BE-70 … BE-76, and the defects that are mended.

use serde_json::Value;

use super::pattern::Pattern;
use super::*;
use crate::access::Operation;
use crate::error::ErrorKind;

mod commands;
mod files;
mod patterns;
mod reached;
mod repositories;
mod told;

fn vectors() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/permissions.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn preset(name: &str) -> PermissionChecker {
    PermissionChecker::new(Ruleset::preset(name).unwrap()).unwrap()
}

fn operation(name: &str) -> Operation {
    Operation::ALL.into_iter().find(|operation| operation.name() == name).unwrap()
}

fn ruleset(text: &str) -> Ruleset {
    serde_json::from_str(text).unwrap()
}

fn matches(pattern: &str, target: &str) -> bool {
    Pattern::new(pattern).unwrap().matches(target)
}

#[test]
fn gives_the_recorded_verdicts_of_the_presets() {
    let vectors = vectors();
    for case in vectors["check_sync"].as_array().unwrap() {
        let (name, operation_name, target) =
            (case["preset"].as_str().unwrap(), case["operation"].as_str().unwrap(), case["target"].as_str().unwrap());
        if operation_name == "execute" {
            continue;
        }
        let name = name.trim_end_matches("_RULESET").to_lowercase();
        let verdict = preset(&name).check(operation(operation_name), target);
        let expected = case["action"].as_str().unwrap();
        assert_eq!(verdict.action.name(), expected, "{name} {operation_name} {target:?}");
    }
}

#[test]
fn the_first_match_decides() {
    let vectors = vectors();
    for case in vectors["precedence"].as_array().unwrap() {
        let checker = PermissionChecker::new(serde_json::from_value(case["ruleset"].clone()).unwrap()).unwrap();
        let verdict = checker.check(operation(case["operation"].as_str().unwrap()), case["target"].as_str().unwrap());
        assert_eq!(verdict.action.name(), case["action"].as_str().unwrap(), "{case}");
    }
}

#[test]
fn a_section_without_default_takes_the_rulesets_and_that_asks_by_default() {
    for (text, expected) in [
        ("{}", Action::Ask),
        (r#"{"read":{}}"#, Action::Ask),
        (r#"{"default":"deny"}"#, Action::Deny),
        (r#"{"default":"deny","read":{"rules":[]}}"#, Action::Deny),
        (r#"{"default":"deny","read":{"default":"allow"}}"#, Action::Allow),
        (r#"{"default":"deny","read":null}"#, Action::Deny),
    ] {
        let checker = PermissionChecker::new(ruleset(text)).unwrap();
        assert_eq!(checker.check(Operation::Read, "/x").action, expected, "{text}");
        assert_eq!(checker.operation_default(Operation::Read), expected, "{text}");
    }
}

#[test]
fn says_which_rule_decided_and_why() {
    let text = r#"{"read":{"rules":[{"pattern":"**/a","action":"allow"},{"pattern":"**/.env","action":"deny","description":"Protect it"}]}}"#;
    let checker = PermissionChecker::new(ruleset(text)).unwrap();
    assert_eq!(
        checker.check(Operation::Read, "/w/.env"),
        Verdict {
            action: Action::Deny,
            rule: Some(MatchedRule {
                operation: Operation::Read,
                pattern: "**/.env".into(),
                description: Some("Protect it".into()),
                index: 1,
            }),
            reason: "'read' on '/w/.env' is not permitted by the rule '**/.env': Protect it.".into(),
        }
    );
    assert_eq!(
        checker.check(Operation::Read, "/w/\u{1b}x").reason,
        r"'read' on '/w/\u{1b}x' needs somebody's approval."
    );
}

#[test]
fn a_rule_matches_any_spelling_of_a_place_and_their_order_is_kept() {
    let text = r#"{"default":"ask","read":{"rules":[{"pattern":"src/secret","action":"deny"},{"pattern":"/w/src/**","action":"allow"}]}}"#;
    let checker = PermissionChecker::new(ruleset(text)).unwrap();
    assert_eq!(checker.check_path(Operation::Read, &["/w/src/a", "src/a"]).action, Action::Allow);
    assert_eq!(checker.check_path(Operation::Read, &["/w/src/secret", "src/secret"]).action, Action::Deny);
    assert_eq!(checker.action(Operation::Read, &["/w/src/secret", "src/secret"]), Action::Deny);
    assert_eq!(checker.action(Operation::Read, &["/w/x", "x"]), Action::Ask);
}

/// D18, D20: `*` in a deny rule for commands stopped at a `/`.
#[test]
fn a_star_in_a_command_crosses_slashes_where_the_rule_takes_away() {
    let text = r#"{"execute":{"default":"ask","rules":[{"pattern":"rm -rf *","action":"deny"},{"pattern":"cat *","action":"allow"}]}}"#;
    let checker = PermissionChecker::new(ruleset(text)).unwrap();
    assert_eq!(checker.first_rule(Operation::Execute, "rm -rf foo/bar"), Some(0));
    assert_eq!(checker.first_rule(Operation::Execute, "cat notes"), Some(1));
    assert_eq!(checker.first_rule(Operation::Execute, "cat /etc/shadow"), None);
}

#[test]
fn knows_what_is_denied_or_allowed_altogether() {
    let text = r#"{"default":"deny","write":{"rules":[{"pattern":"a","action":"deny"}]},"edit":{"rules":[{"pattern":"a","action":"ask"}]},"ls":{"default":"allow"}}"#;
    let checker = PermissionChecker::new(ruleset(text)).unwrap();
    assert!(checker.denies_all(Operation::Read) && checker.denies_all(Operation::Write));
    assert!(!checker.denies_all(Operation::Edit) && !checker.denies_all(Operation::Ls));
    assert!(checker.allows_all(Operation::Ls) && !checker.allows_all(Operation::Read));
}

#[test]
fn checks_the_examples_of_rules() {
    let rule = |more: &str| format!(r#"{{"read":{{"rules":[{{"pattern":"**/*.key","action":"deny",{more}}}]}}}}"#);
    for (more, fails) in [
        (r#""match":["a.key","/b/c.key"],"notMatch":["a.keys"]"#, None),
        (r#""match":["a.keys"]"#, Some("does not match its example 'a.keys'")),
        (r#""notMatch":["a/b.key"]"#, Some("matches its example 'a/b.key'")),
    ] {
        match (PermissionChecker::new(ruleset(&rule(more))), fails) {
            (Ok(_), None) => {}
            (Err(error), Some(text)) => {
                assert_eq!(error.kind(), ErrorKind::InvalidInput);
                assert!(error.message().contains(text), "{}", error.message());
            }
            (result, _) => panic!("{more}: {result:?}"),
        }
    }
}

#[test]
fn refuses_what_is_no_ruleset() {
    for text in [
        r#"{"reed":{}}"#,
        r#"{"read":{"rule":[]}}"#,
        r#"{"read":{"rules":[{"pattern":"a"}]}}"#,
        r#"{"read":{"rules":[{"pattern":"a","action":"Allow"}]}}"#,
        r#"{"read":{"rules":[{"pattern":"a","action":"allow","not_match":[]}]}}"#,
        r#"{"default":"maybe"}"#,
    ] {
        assert!(serde_json::from_str::<Ruleset>(text).is_err(), "{text}");
    }
    let long = Ruleset {
        read: Some(OperationRules { default: None, rules: vec![Rule::new("x".repeat(5_000), Action::Allow)] }),
        ..Ruleset::default()
    };
    assert_eq!(PermissionChecker::new(long).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(Ruleset::preset("lenient").unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn rulesets_survive_json() {
    for name in PRESET_NAMES {
        let ruleset = Ruleset::preset(name).unwrap();
        assert_eq!(serde_json::from_str::<Ruleset>(&serde_json::to_string(&ruleset).unwrap()).unwrap(), ruleset);
    }
    let text = r#"{"default":"ask","edit":{"rules":[{"pattern":"a","action":"deny","description":"d","match":["a"],"notMatch":["b"]}]}}"#;
    assert_eq!(serde_json::to_string(&ruleset(text)).unwrap(), text);
}

/// D19: secrets in their usual places were readable, and harmless names were not.
#[test]
fn presets_keep_secrets_and_nothing_else() {
    const SECRETS: [&str; 34] = [
        ".env",
        ".ENV",
        ".env.local",
        ".env.production",
        ".envrc",
        "key.pem",
        "key.PEM",
        "id.key",
        "c.crt",
        "id_rsa",
        "ID_RSA",
        "id_ed25519",
        ".npmrc",
        ".pypirc",
        ".netrc",
        ".git-credentials",
        ".pgpass",
        "store.jks",
        "a.p12",
        "credentials",
        "credentials.json",
        "secrets/db.json",
        "secrets/a/b",
        "credentials/a",
        ".aws/credentials",
        ".AWS/config",
        ".ssh/config",
        ".ssh",
        ".docker/config.json",
        "secrets.yaml",
        "my_secret.txt",
        "mysecret",
        "client_secret_1.json",
        "passwords.txt",
    ];
    const HARMLESS: [&str; 22] = [
        "secretary.md",
        "secretary.txt",
        ".env.example",
        ".env.sample",
        "test_password_reset.py",
        "src/secrets/store.go",
        "password.ts",
        "ForgotPassword.vue",
        "keyboard.ts",
        "environment.ts",
        "env",
        "README.md",
        "monkey.txt",
        "id_rsa.pub",
        "docs/secrets-management.md",
        "aws/config",
        "ssh/x",
        "package.json",
        "secretariat/x.json",
        "credentials.test.ts",
        "certificate.txt",
        "src/credentials/index.ts",
    ];
    for name in ["default", "permissive", "readonly", "strict"] {
        let checker = preset(name);
        for (list, secret) in [(&SECRETS[..], true), (&HARMLESS[..], false)] {
            for path in list {
                for target in [(*path).to_owned(), format!("/w/project/{path}")] {
                    for operation in [Operation::Read, Operation::Write, Operation::Edit, Operation::Delete] {
                        let expected = if secret { Action::Deny } else { checker.operation_default(operation) };
                        assert_eq!(checker.check(operation, &target).action, expected, "{name} {operation:?} {target}");
                    }
                }
            }
        }
    }
    let permissive = preset("permissive");
    assert_eq!(permissive.check(Operation::Write, "/etc/.env.example").action, Action::Deny);
    assert_eq!(permissive.check(Operation::Delete, "/usr/lib/x.py").action, Action::Deny);
    assert_eq!(permissive.check(Operation::Read, "/usr/lib/x.py").action, Action::Allow);
}

#[test]
fn creates_rulesets_from_answers() {
    let open = Ruleset::create(CreateOptions {
        default: Action::Deny,
        allow_write: true,
        allow_execute: true,
        allow_ls: false,
        deny_secrets: false,
        ..CreateOptions::default()
    });
    let checker = PermissionChecker::new(open).unwrap();
    for (operation, expected) in Operation::ALL.into_iter().zip([
        Action::Allow,
        Action::Allow,
        Action::Ask,
        Action::Allow,
        Action::Allow,
        Action::Allow,
        Action::Allow,
        Action::Ask,
    ]) {
        assert_eq!(checker.operation_default(operation), expected, "{operation:?}");
    }
    assert_eq!(checker.check(Operation::Read, ".env").action, Action::Allow);
    let safe = PermissionChecker::new(Ruleset::create(CreateOptions::default())).unwrap();
    assert_eq!(safe.check(Operation::Write, ".env").action, Action::Deny);
    assert_eq!(safe.check(Operation::Write, "a").action, Action::Ask);
}

/// The directories of an agent may lie in those of the system, which a preset protects around them.
#[test]
fn rules_of_presets_for_the_system_hold_outside_of_the_agents_roots() {
    let roots = ["/usr/src/app".to_owned(), "/work".to_owned()];
    let checker = PermissionChecker::new(Ruleset::preset("permissive").unwrap()).unwrap().of_roots(&roots).unwrap();
    let plain = PermissionChecker::new(Ruleset::preset("permissive").unwrap()).unwrap();
    for (path, expected) in [
        ("/usr/src/app/x", Action::Allow),
        ("/usr/src/app", Action::Allow),
        ("/work/x", Action::Allow),
        ("/usr/src/app/.env", Action::Deny),
        ("/usr/src/app/.git/config", Action::Ask),
        ("/usr/src/app/../x", Action::Deny),
        ("/usr/src/apple", Action::Deny),
        ("/usr/src", Action::Deny),
        ("/var/x", Action::Deny),
    ] {
        for operation in [Operation::Write, Operation::Edit, Operation::Delete] {
            assert_eq!(checker.check(operation, path).action, expected, "{operation:?} {path}");
            if !path.contains("..") {
                assert_eq!(checker.check_path(operation, &[path]).action, expected, "{operation:?} {path}");
                assert_eq!(checker.action(operation, &[path]), expected, "{operation:?} {path}");
            }
        }
    }
    let named = checker.check(Operation::Write, "/usr/src/app/.env").rule.unwrap();
    assert_eq!(named, plain.check(Operation::Write, "/work/.env").rule.unwrap());
    let context =
        CommandContext { working_directory: "/usr/src/app".into(), roots: roots.to_vec(), ..CommandContext::default() };
    for (command, expected) in [
        ("echo x > y && rm -rf build && mv y z", Action::Allow),
        ("rm a.log b/c", Action::Allow),
        ("echo x > ../y", Action::Deny),
        ("rm -rf /usr/src/app/../other/x", Action::Deny),
        ("cp a .env", Action::Deny),
    ] {
        assert_eq!(checker.check_command(command, &context).action, expected, "{command}");
        assert_ne!(plain.check_command(command, &context).action, Action::Allow, "{command}");
    }
    // A rule of the application's own is about every place that it names.
    let mut ruleset = Ruleset::preset("permissive").unwrap();
    let own = Rule::new("/usr/src/app/kept/**", Action::Deny);
    ruleset.write.as_mut().unwrap().rules.insert(0, own);
    let checker = PermissionChecker::new(ruleset).unwrap().of_roots(&roots).unwrap();
    assert_eq!(checker.check(Operation::Write, "/usr/src/app/kept/x").action, Action::Deny);
    assert_eq!(checker.check(Operation::Write, "/usr/src/app/x").action, Action::Allow);
}
