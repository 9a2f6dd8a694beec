//! Runtimes that come along (BE-134).

use std::collections::BTreeMap;

use super::runtime::{PackageManager, Runtime};
use crate::error::{Error, Result, Shown};

/// Name, what for, image as it is or base, packages, their manager, set-up, working directory.
type Row =
    (&'static str, &'static str, Image, &'static [&'static str], PackageManager, &'static [&'static str], &'static str);

/// An image that is used as it is, or built on.
enum Image {
    AsIs(&'static str),
    Base(&'static str),
}

use Image::{AsIs, Base};
use PackageManager::{Npm, Pip};

const PYTHON: &str = "python:3.12-slim";
const NODE: &str = "node:20-slim";

/// One set-up command each: what it fetched only to install is gone from its layer.
const TOOLS: &str = "apt-get update && apt-get install -y --no-install-recommends git curl ca-certificates ripgrep fd-find jq \
                     less procps && ln -s /usr/bin/fdfind /usr/local/bin/fd && rm -rf /var/lib/apt/lists/*";
const NODE_TOO: &str = "apt-get update && apt-get install -y --no-install-recommends curl ca-certificates git nodejs npm && \
                        rm -rf /var/lib/apt/lists/*";
/// Debian's npm is older than what its users know.
const NPM: &str = "npm install -g npm@10 && npm cache clean --force";

const ROWS: [Row; 15] = [
    ("coding", "Python with git, ripgrep, fd, jq and uv", Base(PYTHON), &["uv"], Pip, &[TOOLS], "/workspace"),
    (
        "polyglot",
        "Python and Node.js together, with curl and git",
        Base(PYTHON),
        &["numpy", "duckdb", "polars", "httpx"],
        Pip,
        &[NODE_TOO, NPM],
        "/workspace",
    ),
    ("python-minimal", "Python 3.12 and its standard library", AsIs(PYTHON), &[], Pip, &[], "/workspace"),
    (
        "python-datascience",
        "pandas, NumPy, Matplotlib, scikit-learn and seaborn",
        Base(PYTHON),
        &["pandas", "numpy", "matplotlib", "scikit-learn", "seaborn"],
        Pip,
        &[],
        "/workspace",
    ),
    (
        "python-analytics",
        "DuckDB, Polars and PyArrow",
        Base(PYTHON),
        &["duckdb", "polars", "pyarrow"],
        Pip,
        &[],
        "/workspace",
    ),
    (
        "python-web",
        "FastAPI, Uvicorn, SQLAlchemy and HTTPX",
        Base(PYTHON),
        &["fastapi", "uvicorn", "sqlalchemy", "httpx"],
        Pip,
        &[],
        "/workspace",
    ),
    (
        "python-scraping",
        "HTTPX, Beautiful Soup, lxml and markdownify",
        Base(PYTHON),
        &["httpx", "beautifulsoup4", "lxml", "markdownify"],
        Pip,
        &[],
        "/workspace",
    ),
    (
        "python-documents",
        "pypdf, python-docx, openpyxl and Pillow",
        Base(PYTHON),
        &["pypdf", "python-docx", "openpyxl", "pillow"],
        Pip,
        &[],
        "/workspace",
    ),
    ("node-minimal", "Node.js 20", AsIs(NODE), &[], Pip, &[], "/app"),
    (
        "node-typescript",
        "TypeScript with tsx and Vitest",
        Base(NODE),
        &["typescript", "tsx", "vitest"],
        Npm,
        &[],
        "/app",
    ),
    (
        "node-react",
        "TypeScript, Vite and React",
        Base(NODE),
        &["typescript", "vite", "react", "react-dom", "@types/react"],
        Npm,
        &[],
        "/app",
    ),
    ("bun", "Bun", AsIs("oven/bun:1-slim"), &[], Pip, &[], "/app"),
    ("deno", "Deno", AsIs("denoland/deno:alpine"), &[], Pip, &[], "/app"),
    ("go", "Go and its tools", AsIs("golang:1.23-alpine"), &[], Pip, &[], "/src"),
    ("rust", "Rust with cargo", AsIs("rust:1-slim"), &[], Pip, &[], "/src"),
];

/// All of them.
pub fn builtin_runtimes() -> Vec<Runtime> {
    ROWS.iter().map(runtime).collect()
}

/// One by name. `InvalidInput` lists the names.
pub fn builtin_runtime(name: &str) -> Result<Runtime> {
    ROWS.iter().find(|row| row.0 == name).map(runtime).ok_or_else(|| {
        let names: Vec<&str> = ROWS.iter().map(|row| row.0).collect();
        Error::invalid(format!("There is no runtime '{}'. There are {}.", Shown(name), names.join(", ")))
    })
}

fn runtime((name, description, image, packages, manager, setup, work_dir): &Row) -> Runtime {
    let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    let (image, base_image) = match image {
        AsIs(image) => (Some((*image).to_owned()), None),
        Base(image) => (None, Some((*image).to_owned())),
    };
    Runtime {
        name: (*name).to_owned(),
        description: (*description).to_owned(),
        image,
        base_image,
        packages: owned(packages),
        package_manager: *manager,
        setup_commands: owned(setup),
        env_vars: BTreeMap::new(),
        work_dir: (*work_dir).to_owned(),
        cache_image: true,
        run_as_uid: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = builtin_runtime("cobol").unwrap_err();
        assert!(error.message().contains("python-minimal, "), "{error}");
    }
}
