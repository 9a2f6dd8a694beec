//! Runs the cases of the contract on a backend.

use gloveport_core::backend::Backend;
use gloveport_core::path::VirtualPath;
use tempfile::TempDir;

use crate::cases::{CASES, Case};
use crate::steps;

/// An empty backend, and the directory in it where the cases begin.
pub(crate) struct Place {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) base: VirtualPath,
    /// Held until the case is over.
    pub(crate) _directory: Option<TempDir>,
}

/// Runs every case on a backend of its own and compares all answers.
pub(crate) async fn contract(name: &str, make: impl Fn() -> Place) {
    contract_of(name, CASES, make).await;
}

/// The same of some cases.
pub(crate) async fn contract_of(name: &str, cases: &[Case], make: impl Fn() -> Place) {
    let mut wrong = String::new();
    for (case, steps) in cases {
        let Place { backend, base, _directory } = make();
        for (step, expected) in *steps {
            let answer = steps::perform(step, &*backend, &base).await;
            if answer != *expected {
                wrong += &format!("{name}: {case}\n  {step:?}\n  expected {expected}\n  answered {answer}\n");
            }
        }
    }
    println!("{name}: {} cases", cases.len());
    assert!(wrong.is_empty(), "\n{wrong}");
}
