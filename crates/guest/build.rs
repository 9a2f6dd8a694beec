//! Puts the supervisor program into the guest.

use std::path::Path;
use std::{env, fs, io};

/// Names the supervisor program for the platform that is built for. Without it the guest carries none, and ends of a
/// command what it can find: good enough for checks and lints, never for a release.
const SUPERVISOR: &str = "GLOVEPORT_SUPERVISOR";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed={SUPERVISOR}");
    let program = match env::var_os(SUPERVISOR) {
        Some(path) => {
            println!("cargo::rerun-if-changed={}", Path::new(&path).display());
            fs::read(path)?
        }
        None => Vec::new(),
    };
    let Some(folder) = env::var_os("OUT_DIR") else { return Err(io::Error::other("cargo sets OUT_DIR")) };
    fs::write(Path::new(&folder).join("supervisor"), program)
}
