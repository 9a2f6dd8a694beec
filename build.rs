//! Tells the linker what a Node addon leaves undefined until it is loaded, and puts the supervisor program into the addon.

use std::path::Path;
use std::{env, fs, io};

/// Names the supervisor program for the platform that is built for. Without it the addon carries none, and commands run
/// without one: good enough for checks and lints, never for a release.
const SUPERVISOR: &str = "GLOVEPORT_SUPERVISOR";

/// The highest level of miniz: slow, once for a build.
const STRONGEST: u8 = 10;

fn main() -> io::Result<()> {
    napi_build::setup();
    // Functions that came out the same are kept once, and ends of texts too. Rust links with lld here, which can; others may not know the option.
    if env::var("TARGET").is_ok_and(|target| target == "x86_64-unknown-linux-gnu") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--icf=all,-O2");
    }
    println!("cargo::rerun-if-env-changed={SUPERVISOR}");
    let program = match env::var_os(SUPERVISOR) {
        Some(path) => {
            println!("cargo::rerun-if-changed={}", Path::new(&path).display());
            fs::read(path)?
        }
        None => Vec::new(),
    };
    // Half its size in the addon; it is unpacked once, before the first command.
    let program = miniz_oxide::deflate::compress_to_vec_zlib(&program, STRONGEST);
    let Some(folder) = env::var_os("OUT_DIR") else { return Err(io::Error::other("cargo sets OUT_DIR")) };
    fs::write(Path::new(&folder).join("supervisor"), program)
}
