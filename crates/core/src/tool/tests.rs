//! What holds for every tool in the registry: its schema is plain, closed, and says what its decoder takes.

use serde_json::{Map, Value, json};

use super::{Entry, REGISTRY, find};
use crate::error::ErrorKind;
use crate::path::VirtualPath;

/// Every object schema in `schema`, with the place it stands in.
fn nodes(schema: &Value) -> Vec<(String, &Map<String, Value>)> {
    let mut found = Vec::new();
    let mut pending = vec![(String::from("/"), schema)];
    while let Some((place, value)) = pending.pop() {
        match value {
            Value::Object(node) => {
                pending.extend(node.iter().map(|(name, child)| (format!("{place}{name}/"), child)));
                found.push((place, node));
            }
            Value::Array(items) => pending.extend(items.iter().map(|item| (place.clone(), item))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found
}

/// Tools that only look at commands that run already.
const LOOKS: [&str; 6] = ["read_output", "list_shells", "shell_view", "shell_screen", "shell_list", "shell_resize"];

fn example(entry: &Entry) -> Value {
    serde_json::from_str(entry.spec.example).unwrap()
}

#[test]
fn schemas_are_the_subset_that_every_provider_takes() {
    for entry in REGISTRY {
        let name = entry.spec.name;
        assert_eq!(entry.input_schema()["type"], "object", "{name}");
        for (place, node) in nodes(entry.input_schema()) {
            let is_list_of_properties = place.ends_with("properties/");
            for noise in ["$ref", "$schema", "$defs", "definitions", "title", "format", "nullable", "oneOf", "anyOf"] {
                assert!(is_list_of_properties || !node.contains_key(noise), "{name}{place} has {noise}");
            }
            if node.get("type") == Some(&json!("object")) {
                assert_eq!(node.get("additionalProperties"), Some(&json!(false)), "{name}{place}");
            }
            assert!(is_list_of_properties || !node.get("type").is_some_and(Value::is_array), "{name}{place}");
        }
    }
}

#[test]
fn every_property_is_described_and_decoded_and_no_other_is() {
    for entry in REGISTRY {
        let name = entry.spec.name;
        let properties = entry.input_schema()["properties"].as_object().unwrap();
        let valid = example(entry);
        assert!(entry.decode(&valid).is_ok(), "{name}: its own example");
        for (property, schema) in properties {
            assert!(schema["description"].as_str().is_some_and(|text| text.len() > 10), "{name}.{property}");
            // A property of the schema is one that the decoder knows: a wrong value is refused for its type.
            let mut wrong = valid.clone();
            wrong[property] = json!({ "no": "such type" });
            let error = entry.decode(&wrong).err().unwrap();
            assert!(error.message().contains(&format!("at '{property}'")), "{name}.{property}: {error}");
        }
        let mut unknown = valid.clone();
        unknown["surely_unknown"] = json!(1);
        let error = entry.decode(&unknown).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
        for property in properties.keys() {
            assert!(error.message().contains(&format!("`{property}`")), "{name}: {property} is decoded: {error}");
        }
    }
}

#[test]
fn what_the_schema_requires_is_what_the_decoder_misses() {
    for entry in REGISTRY {
        let schema = entry.input_schema();
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        for property in schema["properties"].as_object().unwrap().keys() {
            let mut without = example(entry);
            without.as_object_mut().unwrap().shift_remove(property);
            assert_eq!(
                entry.decode(&without).is_err(),
                required.contains(&property.as_str()),
                "{}.{property}",
                entry.spec.name
            );
        }
    }
}

#[test]
fn an_optional_property_may_be_null_and_a_required_one_may_not() {
    for entry in REGISTRY {
        let required = entry.input_schema().get("required").cloned().unwrap_or(json!([]));
        for (property, schema) in entry.input_schema()["properties"].as_object().unwrap() {
            let mut with_null = example(entry);
            with_null[property] = Value::Null;
            let is_required = required.as_array().unwrap().contains(&json!(property));
            assert_eq!(entry.decode(&with_null).is_err(), is_required, "{}.{property} {schema}", entry.spec.name);
        }
    }
}

#[test]
fn the_example_of_each_tool_states_what_it_touches() {
    let directory = VirtualPath::absolute("/work").unwrap();
    for entry in REGISTRY {
        let call = entry.decode(&example(entry)).unwrap();
        // Looks at what runs already touch nothing.
        let is_look = LOOKS.contains(&entry.spec.name);
        assert_eq!(call.accesses(&directory).unwrap().is_empty(), is_look, "{}", entry.spec.name);
        assert!(!call.describe().is_empty(), "{}", entry.spec.name);
    }
}

#[test]
fn batches_take_one_or_several_and_not_both() {
    let directory = VirtualPath::absolute("/work").unwrap();
    let many: Vec<String> = (0..201).map(|index| format!("f{index}")).collect();
    for (tool, input, is_right) in [
        ("mkdir", json!({"path": "a"}), true),
        ("mkdir", json!({"paths": ["a", "b"]}), true),
        ("mkdir", json!({"path": "a", "paths": ["b"]}), false),
        ("mkdir", json!({}), false),
        ("mkdir", json!({"paths": []}), false),
        ("mkdir", json!({"paths": many}), false),
        ("move_file", json!({"source": "a"}), false),
        ("move_file", json!({"pairs": [{"source": "a", "destination": "b"}]}), true),
        ("copy_file", json!({"source": "a", "destination": "b", "pairs": []}), false),
        ("delete_file", json!({"path": "."}), false),
        ("delete_file", json!({"path": "/"}), false),
        ("delete_file", json!({"paths": ["a", "../work"]}), false),
        ("read_file", json!({"path": "a", "limit": 0}), false),
        ("hashline_edit", json!({"path": "a", "start_line": 1}), false),
        (
            "hashline_edit",
            json!({"path": "a", "edits": [{"start_line": 1, "start_hash": "aa", "new_content": ""}]}),
            true,
        ),
        (
            "edit_file",
            json!({"path": "a", "edits": [{"old_string": "a", "new_string": "b"}], "replace_all": true}),
            false,
        ),
    ] {
        let accesses = find(tool).unwrap().decode(&input).unwrap().accesses(&directory);
        assert_eq!(accesses.is_ok(), is_right, "{tool} {input}: {:?}", accesses.err());
    }
}
