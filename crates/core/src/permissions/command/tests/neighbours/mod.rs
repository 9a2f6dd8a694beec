//! Lines that are of a kind with others that are stopped: other names, other spellings, other programs that do the same.

use super::*;

mod compilers;
mod databases;
mod harmless;
mod machine;

use compilers::{COMPILERS, COMPILERS_DENIED};
use databases::DATABASES;
use harmless::HARMLESS;
use machine::{MACHINE, MACHINE_ASKED};

/// Programs by other names.
const NAMES: &[&str] = &[
    "editor x",
    "vim.tiny x",
    "vim.basic -c ':!sudo ls' x",
    "/usr/bin/vim.nox x",
    "sensible-editor x",
    "view x",
    "rvim x",
    "gview x",
    "./busybox sh",
];

/// What managers of packages and of environments start.
const MANAGERS: &[&str] = &[
    "pnpm vim x",
    "yarn vim x",
    "yarn run vim x",
    "yarn workspace a vim x",
    "pnpm -w vim x",
    "pnpm recursive exec vim x",
    "pnpm exec vim x",
    "pnpm dlx vim x",
    "yarn dlx vim x",
    "yarn exec vim x",
    "pnpm --reporter silent vim x",
    "pnpm -r --filter a vim x",
    "yarn ts-node -e 'x'",
    "pnpm tsx -e 'x'",
    "pnpm \"$x\"",
    "bun exec 'vim x'",
    "bun exec \"$x\"",
    "bun x vim x",
    "pixi exec vim x",
    "pixi run vim x",
    "hatch run vim x",
    "hatch run lint:vim x",
    "hatch env run -- vim x",
];
const MANAGERS_DENIED: &[&str] = &[
    "./busybox rm -rf /",
    "/opt/x/busybox rm -rf /",
    "./toybox rm -rf /",
    "./busybox-1.36 rm -rf /",
    "pnpm sudo id",
    "yarn sudo id",
    "yarn run sudo id",
    "pnpm -w sudo",
    "pnpm watch sudo ls",
    "pnpm rimraf ~",
    "yarn rimraf /",
    "pnpm --filter a sudo id",
    "pnpm exec sudo id",
    "pnpm dlx sudo id",
    "yarn dlx sudo id",
    "yarn exec sudo id",
    "bun exec 'sudo id'",
    "bun exec 'rm -rf /'",
    "bun x sudo id",
    "pixi exec sudo id",
    "pixi run sudo id",
    "hatch run sudo id",
    "hatch run lint:sudo id",
    "hatch env run -- sudo id",
];

/// The file that was found is the program, or the text.
const FOUND: &[&str] = &[
    "fd -x {}",
    "fd -X {}",
    "fd -e sh -x ./{}",
    "fd -x {.}",
    "fd -x {//}/x",
    "fd --exec {}",
    "fd --exec-batch {}",
    "fd -x sh -c {}",
    "fd -x sh -c './{}'",
    "find . -exec {} ;",
    "find . -exec ./{} \\;",
    "find . -exec sh -c {} \\;",
];

/// Consoles of frameworks, which run the text that they are given.
const CONSOLES: &[&str] = &[
    "rails runner 'x'",
    "rails console",
    "rails dbconsole",
    "rails db",
    "bin/rails dbconsole -p",
    "bundle exec rails dbconsole",
    "bin/rails runner 'x'",
    "./bin/rails c",
    "bundle exec rails runner 'x'",
    "php artisan tinker --execute 'x'",
    "php artisan tinker --execute='x'",
    "php -d a=b artisan tinker --execute 'x'",
    "./artisan tinker --execute 'x'",
    "python manage.py shell -c 'x'",
    "python3 manage.py shell -c 'x'",
    "python3.12 ./manage.py shell -c 'x'",
    ".venv/bin/python manage.py shell --command 'x'",
    "python -Wd manage.py shell -c 'x'",
    "python manage.py shell_plus -c 'x'",
    "python manage.py shell < x",
    "./manage.py shell -c 'x'",
    "uv run manage.py shell -c 'x'",
    "uv run python manage.py shell -c 'x'",
    "poetry run python manage.py shell -c 'x'",
    "python -m django shell -c 'x'",
    "django-admin shell -c 'x'",
    "flask shell",
    "python -m flask shell",
];

/// Settings by which later commands start programs.
const SETTINGS: &[&str] = &[
    "npm pkg set 'scripts[test]=x'",
    "npm pkg set scripts.x=y",
    "npm pkg set '[scripts]=x' --json",
    "npm set-script test x",
    "yarn config set yarnPath ./x",
    "aws configure set credential_process x",
    "aws configure set default.credential_process x",
    "aws configure set profile.a.credential_process x",
    "aws --profile a configure set credential_process x",
    "aws configure set cli_pager x",
    "aws configure set plugins.x y",
    "composer config scripts.x y",
    "composer config --global scripts.x y",
    "composer global config scripts.x y",
    "composer conf scripts.x y",
    "composer config -e",
    "composer config --editor",
    // Names that are known only when they run, and what is done with them.
    "npm pkg set \"$x\"",
    "npm pkg set $x",
    "npm pkg set \"$x=y\"",
    "npm pkg set version=1 \"$x\"",
    "npm pkg set \"s$x\"",
    "npm pkg set \"[$x]=y\"",
    "npm pkg set scripts[x]=y",
    "npm pkg set *",
    "npm pkg \"$x\" a=b",
    "npm --prefix x pkg \"$x\" a=b",
    "npm config set \"$x\" y",
    "npm config \"$x\" a b",
    "npm set \"$x\" y",
    "yarn config set \"$x\" y",
    "aws configure set \"$x\" y",
    "aws configure set \"profile.a.$x\" y",
    "aws configure set \"default.cred$x\" y",
    "aws configure \"$x\" a b",
    "aws --profile \"$p\" configure set \"$x\" y",
    "aws \"$x\" set a b",
    "composer config \"$x\" y",
    "composer config --global \"$x\" y",
    "composer global config \"scr$x\" y",
];

/// Those of some lists that get another answer, and which.
fn otherwise<'a>(lists: &[&[&'a str]], expected: Action) -> Vec<(&'a str, Action)> {
    let judged = lists.iter().flat_map(|list| judged_otherwise(list, expected));
    judged.map(|(line, verdict)| (line, verdict.action)).collect()
}

#[test]
fn what_starts_unknown_programs_or_texts_is_asked_about() {
    let lists = [NAMES, MANAGERS, FOUND, DATABASES, COMPILERS, CONSOLES, SETTINGS, MACHINE_ASKED];
    assert_eq!(otherwise(&lists, Action::Ask), Vec::new());
}

#[test]
fn what_changes_the_machine_is_denied_by_any_name_and_behind_any_starter() {
    assert_eq!(otherwise(&[MANAGERS_DENIED, COMPILERS_DENIED, MACHINE], Action::Deny), Vec::new());
}

#[test]
fn everyday_lines_of_their_kinds_are_allowed() {
    assert_eq!(judged_otherwise(HARMLESS, Action::Allow), Vec::new());
}
