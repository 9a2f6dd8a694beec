//! The instruction that installs a runtime's packages, by the manager that it names.
//!
//! Where the builder can, what a manager downloads is kept beside the images for the next build of the same runtime, and is
//! no part of any image: another package then costs one download, not all of them. What is kept belongs to one runtime and one
//! manager, so that a package that runs code while it is installed leaves nothing behind for somebody else's build.

use serde_json::Value;

use super::runtime::{PackageManager, Runtime, run};
use crate::path::VirtualPath;

/// Where managers keep downloads while they install. A place of its own: what a manager takes by default depends on a `HOME` that
/// an image or a set-up may change.
const PLACE: &str = "/var/cache/gloveport";
/// Where Cargo lives unless an image says otherwise.
const CARGO_HOME: &str = "/root/.cargo";

/// What a build can keep of what it downloads.
pub(super) struct Keep {
    /// Cargo has no option for its cache alone: it is kept where the base image has it.
    cargo_home: String,
}

impl Keep {
    /// What can be kept on top of an image that the engine described. Nothing where its user is not root: what is kept belongs to
    /// root, and npm fails on a cache that it may not write.
    pub(super) fn on(image: &Value) -> Option<Self> {
        let user = image.pointer("/Config/User").and_then(Value::as_str).unwrap_or_default();
        if !matches!(user.split(':').next(), Some("" | "0" | "root")) {
            return None;
        }
        let variables = image.pointer("/Config/Env").and_then(Value::as_array).into_iter().flatten();
        let named = variables.filter_map(Value::as_str).find_map(|variable| variable.strip_prefix("CARGO_HOME="));
        Some(Self { cargo_home: named.filter(|path| is_plain(path)).unwrap_or(CARGO_HOME).to_owned() })
    }
}

/// Whether it can stand among the options of an instruction, which separate by commas and blanks.
fn is_plain(path: &str) -> bool {
    VirtualPath::absolute(path).is_ok_and(|known| !known.is_root() && known.as_str() == path)
        && path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
}

/// Installs `runtime.packages`, which were checked; `pip` is the program for Python's. Without `keep` nothing is kept.
pub(super) fn instruction(runtime: &Runtime, pip: &str, keep: Option<&Keep>) -> String {
    let kept = |what: &str, place: &str, sharing: &str| {
        format!(" --mount=type=cache,id=gloveport-{}-{what},target={place},sharing={sharing}", runtime.name)
    };
    let packages: Vec<&str> = runtime.packages.iter().map(String::as_str).collect();
    let made = |options: &str, words: &[&str]| run(options, &[words, &["--"], &packages[..]].concat());
    match (runtime.package_manager, keep) {
        (PackageManager::Pip, None) => made("", &[pip, "install", "--no-cache-dir"]),
        (PackageManager::Pip, Some(_)) => {
            let place = format!("{PLACE}/pip");
            made(&kept("pip", &place, "shared"), &[pip, "install", &format!("--cache-dir={place}")])
        }
        (PackageManager::Npm, None) => made("", &["npm", "install", "--no-audit", "--no-fund"]),
        (PackageManager::Npm, Some(_)) => {
            let place = format!("{PLACE}/npm");
            let cache = format!("--cache={place}");
            made(&kept("npm", &place, "shared"), &["npm", "install", "--no-audit", "--no-fund", &cache])
        }
        (PackageManager::Apt, keep) => apt(&packages, keep.map(|_| kept("apt", &format!("{PLACE}/apt"), "locked"))),
        (PackageManager::Cargo, None) => made("", &["cargo", "install", "--locked"]),
        (PackageManager::Cargo, Some(Keep { cargo_home })) => {
            // The lock that two of Cargo hold against each other lies beside these two, and is not shared.
            let registry = kept("cargo-registry", &format!("{cargo_home}/registry"), "locked");
            let git = kept("cargo-git", &format!("{cargo_home}/git"), "locked");
            made(&format!("{registry}{git}"), &["cargo", "install", "--locked"])
        }
    }
}

/// The lists are of no use later, and old ones in a cached layer would do harm: one layer for all of it. What is kept lies elsewhere
/// than where images of Debian delete it after each run.
fn apt(packages: &[&str], kept: Option<String>) -> String {
    let (prepare, options) = match &kept {
        None => (String::new(), String::new()),
        Some(_) => (
            format!("mkdir -p {PLACE}/apt/lists {PLACE}/apt/archives && "),
            format!(
                " -o Dir::State::lists={PLACE}/apt/lists -o Dir::Cache::archives={PLACE}/apt/archives \
                 -o APT::Keep-Downloaded-Packages=true"
            ),
        ),
    };
    let script = format!(
        "{prepare}apt-get{options} update && apt-get{options} install -y --no-install-recommends -- \"$@\" && \
         rm -rf /var/lib/apt/lists/*"
    );
    run(kept.as_deref().unwrap_or_default(), &[&["/bin/sh", "-c", &script, "sh"], packages].concat())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runtime(manager: &str) -> Runtime {
        let packages = ["a>=1,<2"];
        serde_json::from_value(
            json!({ "name": "n", "baseImage": "b", "packageManager": manager, "packages": packages }),
        )
        .unwrap()
    }

    fn image(user: &str, variables: &[&str]) -> Value {
        json!({ "Config": { "User": user, "Env": variables } })
    }

    #[test]
    fn each_manager_keeps_what_it_downloads_for_its_runtime_alone() {
        let keep = Keep::on(&image("", &["PATH=/bin", "CARGO_HOME=/usr/local/cargo"]));
        let made = |manager| instruction(&runtime(manager), "pip", keep.as_ref());
        assert_eq!(
            made("pip"),
            "RUN --mount=type=cache,id=gloveport-n-pip,target=/var/cache/gloveport/pip,sharing=shared \
             [\"pip\",\"install\",\"--cache-dir=/var/cache/gloveport/pip\",\"--\",\"a>=1,<2\"]"
        );
        assert_eq!(
            made("npm"),
            "RUN --mount=type=cache,id=gloveport-n-npm,target=/var/cache/gloveport/npm,sharing=shared \
             [\"npm\",\"install\",\"--no-audit\",\"--no-fund\",\"--cache=/var/cache/gloveport/npm\",\"--\",\"a>=1,<2\"]"
        );
        assert_eq!(
            made("cargo"),
            "RUN --mount=type=cache,id=gloveport-n-cargo-registry,target=/usr/local/cargo/registry,sharing=locked \
             --mount=type=cache,id=gloveport-n-cargo-git,target=/usr/local/cargo/git,sharing=locked \
             [\"cargo\",\"install\",\"--locked\",\"--\",\"a>=1,<2\"]"
        );
        let options = "-o Dir::State::lists=/var/cache/gloveport/apt/lists -o \
                       Dir::Cache::archives=/var/cache/gloveport/apt/archives -o APT::Keep-Downloaded-Packages=true";
        assert_eq!(
            made("apt"),
            format!(
                "RUN --mount=type=cache,id=gloveport-n-apt,target=/var/cache/gloveport/apt,sharing=locked \
                 [\"/bin/sh\",\"-c\",\"mkdir -p /var/cache/gloveport/apt/lists /var/cache/gloveport/apt/archives && \
                 apt-get {options} update && apt-get {options} install -y --no-install-recommends -- \\\"$@\\\" && \
                 rm -rf /var/lib/apt/lists/*\",\"sh\",\"a>=1,<2\"]"
            )
        );
    }

    #[test]
    fn a_user_that_is_not_root_keeps_nothing() {
        for (user, keeps) in
            [("", true), ("root", true), ("0:0", true), ("root:staff", true), ("node", false), ("1000:0", false)]
        {
            assert_eq!(Keep::on(&image(user, &[])).is_some(), keeps, "{user}");
        }
        // Podman leaves out what is empty.
        assert!(Keep::on(&json!({ "Config": {} })).is_some());
    }

    #[test]
    fn a_home_that_would_be_more_than_a_place_is_not_taken() {
        for (home, taken) in [
            ("/usr/local/cargo", "/usr/local/cargo"),
            ("/a,readonly", CARGO_HOME),
            ("/a b", CARGO_HOME),
            ("/a\nRUN x", CARGO_HOME),
            ("relative", CARGO_HOME),
            ("/a/../etc", CARGO_HOME),
            ("/", CARGO_HOME),
        ] {
            let keep = Keep::on(&image("", &[&format!("CARGO_HOME={home}")])).unwrap();
            assert_eq!(keep.cargo_home, taken, "{home}");
        }
    }
}
