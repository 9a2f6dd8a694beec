//! What a judgement costs: `cargo bench -p gloveport-core --bench permissions`.

use std::hint::black_box;
use std::time::Instant;

use gloveport_core::access::Operation;
use gloveport_core::permissions::{CommandContext, PermissionChecker, Ruleset, analyze};

const ROUNDS: u32 = 20_000;

fn measure(name: &str, mut work: impl FnMut()) {
    for _ in 0..ROUNDS / 10 {
        work();
    }
    let start = Instant::now();
    for _ in 0..ROUNDS {
        work();
    }
    println!("{:>10.2?}  {name}", start.elapsed() / ROUNDS);
}

fn main() -> Result<(), gloveport_core::error::Error> {
    let context = CommandContext {
        working_directory: "/work/project".into(),
        home: Some("/home/u".into()),
        roots: vec!["/work/project".into()],
        ..CommandContext::default()
    };
    let checker = PermissionChecker::new(Ruleset::preset("permissive")?)?;
    for command in [
        "git status",
        "cd packages/core && npm test -- --watch=false 2>&1 | tail -n 40",
        "for f in $(find . -name '*.ts'); do grep -n \"foo\" \"$f\" > /tmp/out; done",
        "git commit -m \"$(cat <<'EOF'\nA message\n\nof several lines (with more)\nEOF\n)\"",
    ] {
        let title = command.lines().next().unwrap_or_default();
        measure(&format!("analyze        {title}"), || drop(black_box(analyze(black_box(command), &context))));
        measure(&format!("check_command  {title}"), || {
            drop(black_box(checker.check_command(black_box(command), &context)));
        });
    }
    let paths = ["/work/project/packages/core/src/permissions/checker.rs", "packages/core/src/permissions/checker.rs"];
    measure("check_path     read", || drop(black_box(checker.check_path(Operation::Read, black_box(&paths)))));
    measure("action         read", || {
        black_box(checker.action(Operation::Read, black_box(&paths)));
    });
    let start = Instant::now();
    drop(black_box(PermissionChecker::new(Ruleset::preset("permissive")?)?));
    println!("{:>10.2?}  a checker of the permissive preset", start.elapsed());
    let long = "echo a; ".repeat(8_000);
    let start = Instant::now();
    drop(black_box(analyze(&long, &context)));
    println!("{:>10.2?}  analyze {} bytes", start.elapsed(), long.len());
    Ok(())
}
