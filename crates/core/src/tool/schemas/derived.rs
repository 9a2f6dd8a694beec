//! The JSON Schema of a tool's input, made from the struct that decodes it, so that the two cannot disagree.
//!
//! What comes out is the subset of draft-07 that every model provider takes: no `$ref`, no `$schema`, no `title`, no
//! `format`, no type lists; objects are closed (`additionalProperties: false`). An optional property is one that is
//! not `required`; an explicit `null` for it is decoded as absent.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The schema of `T`'s JSON form.
pub(in crate::tool) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Value::Object(root) = &mut schema {
        // A tool without parameters says so.
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    let mut pending = vec![&mut schema];
    while let Some(Value::Object(node)) = pending.pop() {
        tidy(node);
        for (name, child) in node.iter_mut() {
            match (name.as_str(), child) {
                ("properties", Value::Object(properties)) => pending.extend(properties.values_mut()),
                ("anyOf" | "oneOf" | "allOf", Value::Array(variants)) => pending.extend(variants.iter_mut()),
                ("items", child) => pending.push(child),
                _ => {}
            }
        }
    }
    schema
}

/// Removes what providers stumble over from one schema object.
fn tidy(node: &mut Map<String, Value>) {
    for noise in ["$schema", "title", "format", "definitions"] {
        node.shift_remove(noise);
    }
    if node.get("default") == Some(&Value::Null) {
        node.shift_remove("default");
    }
    if let Some(Value::Array(types)) = node.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            node.insert("type".to_owned(), only);
        }
    }
    // `Option<Struct>` becomes anyOf [Struct, null]: the struct alone, since absent stands for null.
    if let Some(Value::Array(variants)) = node.get_mut("anyOf") {
        variants.retain(|variant| variant.get("type") != Some(&Value::from("null")));
        if variants.len() == 1
            && let Some(Value::Object(only)) = variants.pop()
        {
            node.shift_remove("anyOf");
            for (name, value) in only {
                node.entry(name).or_insert(value);
            }
            tidy_nested_type(node);
        }
    }
    if let Some(Value::Array(values)) = node.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

/// A lifted variant may bring its own noise along.
fn tidy_nested_type(node: &mut Map<String, Value>) {
    for noise in ["title", "format"] {
        node.shift_remove(noise);
    }
}
