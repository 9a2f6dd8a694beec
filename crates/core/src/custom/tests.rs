//! Schemas of custom tools: what fits, what does not, and what cannot be kept is refused.

use serde_json::{Value, json};

use super::schema::InputSchema;
use crate::error::ErrorKind;

/// The complaint about a value, or "" when it fits.
fn complaint(schema: &Value, value: &Value) -> String {
    let schema = InputSchema::compile(schema).unwrap();
    schema.check(value).map_or_else(|problem| problem.to_string(), |()| String::new())
}

#[test]
fn every_keyword_constrains_and_says_where() {
    for (schema, right, wrong, said) in [
        (json!({ "type": "integer" }), json!(2.0), json!(2.5), ": expected a whole number, found a number"),
        (json!({ "type": ["string", "null"] }), json!(null), json!(1), ": expected a string or null, found a number"),
        (json!({ "enum": ["a", 1] }), json!(1.0), json!("b"), ": expected \"a\" or 1"),
        (json!({ "const": [1] }), json!([1]), json!([2]), ": expected [1]"),
        (json!({ "required": ["a"] }), json!({ "a": 1 }), json!({}), ": 'a' is missing"),
        (
            json!({ "properties": { "a": { "items": { "type": "string" } } } }),
            json!({ "a": ["x"] }),
            json!({ "a": ["x", 1] }),
            " at 'a[1]': expected a string, found a number",
        ),
        (
            json!({ "properties": { "a": true }, "additionalProperties": false }),
            json!({ "a": 1 }),
            json!({ "b": 1 }),
            ": 'b' is not known; the schema has a",
        ),
        (
            json!({ "additionalProperties": { "type": "string" } }),
            json!({ "x": "y" }),
            json!({ "x": 1 }),
            " at 'x': expected a string, found a number",
        ),
        (json!({ "minProperties": 1 }), json!({ "a": 1 }), json!({}), ": expected at least 1 properties, found 0"),
        (json!({ "minItems": 1, "maxItems": 2 }), json!([1]), json!([1, 2, 3]), ": expected 1 to 2 items, found 3"),
        (
            json!({ "uniqueItems": true }),
            json!([1, "1"]),
            json!([{ "a": 1 }, { "a": 1 }]),
            " at '[1]': stands there twice",
        ),
        (json!({ "minLength": 2 }), json!("äö"), json!("ä"), ": expected at least 2 characters, found 1"),
        (json!({ "maxLength": 2 }), json!("äö"), json!("äöü"), ": expected at most 2 characters, found 3"),
        (json!({ "pattern": "^a+$" }), json!("aa"), json!("ab"), ": does not match the pattern ^a+$"),
        (json!({ "minimum": 1 }), json!(1), json!(0), ": expected at least 1, found 0"),
        (json!({ "maximum": 1 }), json!(1), json!(1.5), ": expected at most 1, found 1.5"),
        (json!({ "exclusiveMinimum": 1 }), json!(2), json!(1), ": expected more than 1, found 1"),
        (json!({ "exclusiveMaximum": 1 }), json!(0), json!(1), ": expected less than 1, found 1"),
        (json!({ "multipleOf": 0.1 }), json!(0.3), json!(0.25), ": expected a multiple of 0.1, found 0.25"),
        (json!({ "allOf": [{ "minimum": 1 }, { "maximum": 2 }] }), json!(1), json!(3), ": expected at most 2, found 3"),
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
            json!("a"),
            json!(1),
            ": fits none of the forms that the schema gives (anyOf)",
        ),
        (
            json!({ "oneOf": [{ "minimum": 1 }, { "minimum": 2 }] }),
            json!(1),
            json!(2),
            ": fits 2 of the forms that the schema gives, not exactly one (oneOf)",
        ),
        (json!({ "not": { "const": 1 } }), json!(2), json!(1), ": has the form that the schema excludes (not)"),
        (json!({ "properties": { "a": false } }), json!({}), json!({ "a": 1 }), " at 'a': nothing may stand here"),
    ] {
        assert_eq!(complaint(&schema, &right), "", "{schema}");
        assert_eq!(complaint(&schema, &wrong), said, "{schema}");
    }
}

#[test]
fn what_cannot_be_kept_is_refused_when_the_schema_is_read() {
    let deep = (0..40).fold(json!({}), |inner, _| json!({ "items": inner }));
    for (schema, said) in [
        (json!({ "$ref": "#/$defs/a" }), "$ref"),
        (json!({ "properties": { "a": { "patternProperties": {} } } }), "patternProperties"),
        (json!({ "type": "text" }), "type"),
        (json!({ "pattern": "(?=a)" }), "look-around"),
        (json!({ "pattern": "(a{1000}){1000}{1000}" }), "regular expression"),
        (json!({ "multipleOf": 0 }), "multipleOf"),
        (json!(3), "object"),
        (deep, "32 levels"),
    ] {
        let error = InputSchema::compile(&schema).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.message().contains(said), "{schema}: {}", error.message());
    }
}

#[test]
fn null_for_what_is_left_out_is_taken_unless_the_schema_takes_null() {
    let schema = json!({
        "properties": { "a": { "type": "string" }, "b": { "type": ["string", "null"] }, "c": { "type": "string" } },
        "required": ["c"],
    });
    let schema = InputSchema::compile(&schema).unwrap();
    let given = schema.without_nulls(&json!({ "a": null, "b": null, "c": null, "d": null }));
    assert_eq!(given, json!({ "b": null, "c": null, "d": null }));
}
