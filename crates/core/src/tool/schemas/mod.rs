//! The JSON Schema of every tool's input: a generated file, so that nothing derives them where the package runs.
//!
//! `schemas.json` is made from the structs that decode the inputs ([`derived`]); a test holds one against the other, and
//! writes the file anew with `WRITE_SCHEMAS=1 cargo test -p gloveport-core schemas`.

use std::sync::OnceLock;

use serde_json::{Map, Value};

#[cfg(test)]
pub(super) mod derived;

/// Under each tool's name its schema, and one key that marks the file.
const TEXT: &str = include_str!("schemas.json");

/// The schema of the tool's input.
pub(super) fn of(tool: &str) -> &'static Value {
    static SCHEMAS: OnceLock<Map<String, Value>> = OnceLock::new();
    static NONE: Value = Value::Null;
    // The tests read every one of them.
    SCHEMAS.get_or_init(|| serde_json::from_str(TEXT).unwrap_or_default()).get(tool).unwrap_or(&NONE)
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use super::*;
    use crate::tool::REGISTRY;

    #[test]
    fn schemas_are_what_the_structs_decode() {
        let mut schemas = Map::new();
        schemas.insert(
            "$comment".to_owned(),
            "Generated from the structs in crates/core/src/tool; see crates/core/src/tool/schemas/mod.rs. Do not edit."
                .into(),
        );
        schemas.extend(REGISTRY.iter().map(|entry| (entry.spec.name.to_owned(), (entry.derive_schema)())));
        let text = format!("{}\n", serde_json::to_string_pretty(&schemas).unwrap());
        if env::var_os("WRITE_SCHEMAS").is_some() {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tool/schemas/schemas.json");
            return fs::write(file, text).unwrap();
        }
        assert!(text == TEXT, "schemas.json is stale; this module's documentation says how to write it anew");
        for entry in REGISTRY {
            assert_eq!(entry.input_schema()["type"], "object", "{}", entry.spec.name);
        }
    }
}
