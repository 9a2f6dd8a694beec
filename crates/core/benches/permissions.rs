//! What a judgement costs: `cargo bench -p gloveport-core --bench permissions`; with words behind `--`, of the hostile texts whose
//! names begin with one of them alone.

#[path = "../src/permissions/command/tests/hostile.rs"]
mod hostile;

use std::hint::black_box;
use std::time::{Duration, Instant};

use gloveport_core::access::Operation;
use gloveport_core::error::Error;
use gloveport_core::permissions::command::COMMAND_BYTES;
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

fn five(mut work: impl FnMut()) -> [Duration; 5] {
    [(); 5].map(|()| {
        let start = Instant::now();
        work();
        start.elapsed()
    })
}

fn main() -> Result<(), Error> {
    let context = CommandContext {
        working_directory: "/work/project".into(),
        home: Some("/home/u".into()),
        roots: vec!["/work/project".into()],
        ..CommandContext::default()
    };
    let checker = PermissionChecker::new(Ruleset::preset("permissive")?)?;
    let named: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if named.is_empty() {
        ordinary(&checker, &context)?;
    }
    hostile(&checker, &context, |name| named.is_empty() || named.iter().any(|word| name.starts_with(word)))
}

fn ordinary(checker: &PermissionChecker, context: &CommandContext) -> Result<(), Error> {
    for command in [
        "git status",
        "cd packages/core && npm test -- --watch=false 2>&1 | tail -n 40",
        "for f in $(find . -name '*.ts'); do grep -n \"foo\" \"$f\" > /tmp/out; done",
        "git commit -m \"$(cat <<'EOF'\nA message\n\nof several lines (with more)\nEOF\n)\"",
    ] {
        let title = command.lines().next().unwrap_or_default();
        measure(&format!("analyze        {title}"), || drop(black_box(analyze(black_box(command), context))));
        measure(&format!("check_command  {title}"), || {
            drop(black_box(checker.check_command(black_box(command), context)));
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
    Ok(())
}

/// R-CMD-5: 50 ms for 100 kB. The best of five says what the text costs, the worst what else the machine did.
fn hostile(
    checker: &PermissionChecker,
    context: &CommandContext,
    is_named: impl Fn(&str) -> bool,
) -> Result<(), Error> {
    let mut worst = ("", Duration::ZERO);
    for &(name, start, turn, end) in hostile::HOSTILE.iter().filter(|(name, ..)| is_named(name)) {
        let text = hostile::filled(COMMAND_BYTES, start, turn, end);
        let understood = five(|| drop(black_box(analyze(&text, context))));
        let judged = five(|| drop(black_box(checker.check_command(&text, context))));
        for (what, times) in [("64 KiB of", understood), ("under rules,", judged)] {
            let best = times.iter().min().copied().unwrap_or_default();
            println!(
                "{best:>10.2?}  at worst {:>8.2?}  {what} {name}",
                times.iter().max().copied().unwrap_or_default()
            );
            worst = if best > worst.1 { (name, best) } else { worst };
        }
    }
    println!("{:>10.2?}  the slowest, {} (33 ms)", worst.1, worst.0);
    if worst.1 > Duration::from_millis(33) {
        return Err(Error::internal("A hostile text takes too long."));
    }
    Ok(())
}
