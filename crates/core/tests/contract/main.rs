//! The contract that every backend keeps: the same steps get the same answers, byte for byte (invariant 10).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;
mod steps;

use gloveport_core::backend::Backend;
use gloveport_core::backend::memory::{StateBackend, StateOptions};
use gloveport_core::limits::Limits;
use gloveport_core::path::VirtualPath;

use self::cases::CASES;

/// An empty backend, and the directory in it where the cases begin.
struct Place {
    backend: Box<dyn Backend>,
    base: VirtualPath,
}

/// Runs every case on a backend of its own and compares all answers.
async fn contract(name: &str, make: impl Fn() -> Place) {
    let mut wrong = String::new();
    for (case, steps) in CASES {
        let Place { backend, base } = make();
        for (step, expected) in *steps {
            let answer = steps::perform(step, &*backend, &base).await;
            if answer != *expected {
                wrong += &format!("{name}: {case}\n  {step:?}\n  expected {expected}\n  answered {answer}\n");
            }
        }
    }
    println!("{name}: {} cases", CASES.len());
    assert!(wrong.is_empty(), "\n{wrong}");
}

fn memory() -> StateBackend {
    StateBackend::new(StateOptions::default(), Limits::default()).unwrap()
}

#[tokio::test]
async fn memory_keeps_the_contract() {
    contract("memory", || Place { backend: Box::new(memory()), base: VirtualPath::root() }).await;
}

#[tokio::test]
async fn a_directory_in_memory_keeps_the_contract() {
    let base = VirtualPath::absolute("/deep/er").unwrap();
    let files = serde_json::json!({ "files": { "/deep/er/": "", "/one.ts": "one", "/deep/one.txt": "one" } });
    contract("memory, below", || Place {
        backend: Box::new(
            StateBackend::new(serde_json::from_value(files.clone()).unwrap(), Limits::default()).unwrap(),
        ),
        base: base.clone(),
    })
    .await;
}
