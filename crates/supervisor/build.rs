//! Builds the library that holds shells which stand by (`gloveport-standby`), for the supervisor to carry: once more, as something
//! that is preloaded, and with Rust's own linker, which knows every target.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

const SOURCES: &str = "../standby/src";

/// What the compiler asks for by these names, the library has by others, so that it gives them to nobody else.
const OWN_NAMES: [(&str, &str); 7] = [
    ("memcpy", "memcpy"),
    ("memmove", "memmove"),
    ("memset", "memset"),
    ("memcmp", "memcmp"),
    ("bcmp", "memcmp"),
    ("strlen", "strlen"),
    ("rust_eh_personality", "personality"),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={SOURCES}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(has_standby)");
    let of = |name: &str| env::var(name).map_err(|_| format!("cargo sets {name}"));
    let is_known = matches!(of("CARGO_CFG_TARGET_ARCH")?.as_str(), "x86_64" | "aarch64");
    if of("CARGO_CFG_TARGET_OS")? != "linux" || !is_known {
        return Ok(());
    }
    let library = PathBuf::from(of("OUT_DIR")?).join("standby.so");
    let status = Command::new(of("RUSTC")?)
        .args(["--crate-name=gloveport_standby", "--edition=2024", "--crate-type=cdylib", "--cfg=standby"])
        .arg(format!("--target={}", of("TARGET")?))
        .args(["-Cpanic=abort", "-Copt-level=s", "-Cstrip=symbols", "-Crelocation-model=pic"])
        // Of a static target too.
        .args(["-Ctarget-feature=-crt-static", "-Clink-self-contained=no"])
        // It needs nobody, and nothing that is loaded needs it.
        .args(["-Clinker=rust-lld", "-Clink-arg=--no-undefined", "-Clink-arg=--hash-style=gnu", "-Clink-arg=-znow"])
        .args(OWN_NAMES.map(|(name, own)| format!("-Clink-arg=--defsym={name}=gloveport_standby_{own}")))
        .arg("-o")
        .arg(&library)
        .arg(format!("{SOURCES}/lib.rs"))
        .status()?;
    if !status.success() {
        let error = format!("the library that holds shells could not be built: {status}");
        // What ships has it. Checks and lints do without.
        if env::var_os("CARGO_FEATURE_STANDALONE").is_some() {
            return Err(error.into());
        }
        println!("cargo::warning={error}");
        return Ok(());
    }
    println!("cargo::rustc-cfg=has_standby");
    println!("cargo::rustc-env=GLOVEPORT_STANDBY={}", library.display());
    Ok(())
}
