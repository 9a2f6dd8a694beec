//! Inputs held to a JSON Schema: the part of draft-07 and 2020-12 that describes tool inputs.
//!
//! A schema is compiled once. A keyword that constrains and that is not known here is an error then, never a constraint
//! that is silently not kept. There is no `$ref`, so that checking ends: it goes no deeper than the schema.

use std::collections::BTreeMap;
use std::fmt;

use regex_automata::meta::Regex;
use serde_json::{Map, Number, Value};

use crate::error::{Error, Result, Shown};

/// 32 levels of schemas in schemas.
const MAX_DEPTH: usize = 32;
/// 10,000 schemas in one.
const MAX_SCHEMAS: usize = 10_000;
/// 1 MiB: a compiled `pattern`.
const PATTERN_BYTES: usize = 1 << 20;
/// 64 values of an `enum` in a message.
const SHOWN_VALUES: usize = 64;

/// Keywords that say something to people and to models, and constrain nothing here.
const ANNOTATIONS: [&str; 13] = [
    "title",
    "description",
    "default",
    "examples",
    "example",
    "$schema",
    "$id",
    "$comment",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "contentEncoding",
];

/// A compiled schema.
#[derive(Debug, Default)]
pub(super) struct InputSchema {
    /// `false` as a schema: nothing fits.
    never: bool,
    types: Option<Vec<Kind>>,
    values: Option<Vec<Value>>,
    properties: BTreeMap<String, InputSchema>,
    required: Vec<String>,
    additional: Option<Box<InputSchema>>,
    property_count: Range,
    items: Option<Box<InputSchema>>,
    item_count: Range,
    unique: bool,
    length: Range,
    pattern: Option<(String, Regex)>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    above: Option<f64>,
    below: Option<f64>,
    multiple_of: Option<f64>,
    all_of: Vec<InputSchema>,
    any_of: Option<Vec<InputSchema>>,
    one_of: Option<Vec<InputSchema>>,
    not: Option<Box<InputSchema>>,
}

/// How many there may be.
#[derive(Debug, Clone, Copy, Default)]
struct Range {
    min: Option<u64>,
    max: Option<u64>,
}

impl Range {
    fn holds(self, count: u64) -> bool {
        self.min.is_none_or(|min| count >= min) && self.max.is_none_or(|max| count <= max)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (Some(min), Some(max)) => write!(f, "{min} to {max}"),
            (Some(min), None) => write!(f, "at least {min}"),
            (None, Some(max)) => write!(f, "at most {max}"),
            (None, None) => f.write_str("any number of"),
        }
    }
}

/// The types of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

const KINDS: [(&str, Kind, &str); 7] = [
    ("null", Kind::Null, "null"),
    ("boolean", Kind::Boolean, "true or false"),
    ("integer", Kind::Integer, "a whole number"),
    ("number", Kind::Number, "a number"),
    ("string", Kind::String, "a string"),
    ("array", Kind::Array, "an array"),
    ("object", Kind::Object, "an object"),
];

impl Kind {
    fn named(name: &str) -> Option<Self> {
        KINDS.iter().find(|(known, ..)| *known == name).map(|(_, kind, _)| *kind)
    }

    fn shown(self) -> &'static str {
        KINDS.iter().find(|(_, kind, _)| *kind == self).map_or("a value", |(.., shown)| shown)
    }

    fn fits(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Null, Value::Null)
            | (Self::Boolean, Value::Bool(_))
            | (Self::Number, Value::Number(_))
            | (Self::String, Value::String(_))
            | (Self::Array, Value::Array(_))
            | (Self::Object, Value::Object(_)) => true,
            (Self::Integer, Value::Number(number)) => is_whole(number),
            _ => false,
        }
    }
}

fn is_whole(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// What is wrong with a value, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    place: Vec<String>,
    what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            let place: Vec<_> = self.place.iter().rev().map(String::as_str).collect();
            write!(f, " at '{}'", Shown(place.join(".").replace(".[", "[").as_str()))?;
        }
        write!(f, ": {}", self.what)
    }
}

impl InputSchema {
    /// Everything fits.
    pub(super) fn anything() -> Self {
        Self::default()
    }

    /// Compiles a schema, or says what in it is not right or not known.
    pub(super) fn compile(schema: &Value) -> Result<Self> {
        compile(schema, 0, &mut 0)
    }

    /// The input less what models send as null for what they leave out.
    pub(super) fn without_nulls(&self, input: &Value) -> Value {
        let Value::Object(fields) = input else { return input.clone() };
        let is_left_out = |name: &str, value: &Value| {
            value.is_null()
                && !self.required.iter().any(|required| required == name)
                && self.properties.get(name).is_some_and(|schema| schema.check(value).is_err())
        };
        let kept = fields.iter().filter(|(name, value)| !is_left_out(name, value));
        Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// Holds a value to the schema. Goes no deeper than the schema does.
    pub(super) fn check(&self, value: &Value) -> std::result::Result<(), Problem> {
        if self.never {
            return Err(problem("nothing may stand here"));
        }
        if let Some(kinds) = &self.types
            && !kinds.iter().any(|kind| kind.fits(value))
        {
            let expected: Vec<_> = kinds.iter().map(|kind| kind.shown()).collect();
            return Err(problem(format!("expected {}, found {}", expected.join(" or "), shown_kind(value))));
        }
        if let Some(values) = &self.values
            && !values.iter().any(|known| same(known, value))
        {
            let shown: Vec<_> =
                values.iter().take(SHOWN_VALUES).map(|value| super::brief(&value.to_string(), 80)).collect();
            return Err(problem(format!("expected {}", shown.join(" or "))));
        }
        match value {
            Value::Object(fields) => self.check_object(fields)?,
            Value::Array(items) => self.check_array(items)?,
            Value::String(text) => self.check_text(text)?,
            Value::Number(number) => self.check_number(number)?,
            Value::Null | Value::Bool(_) => {}
        }
        for schema in &self.all_of {
            schema.check(value)?;
        }
        if let Some(schemas) = &self.any_of
            && schemas.iter().all(|schema| schema.check(value).is_err())
        {
            return Err(problem("fits none of the forms that the schema gives (anyOf)"));
        }
        if let Some(schemas) = &self.one_of {
            let fitting = schemas.iter().filter(|schema| schema.check(value).is_ok()).count();
            if fitting != 1 {
                return Err(problem(format!(
                    "fits {fitting} of the forms that the schema gives, not exactly one (oneOf)"
                )));
            }
        }
        if self.not.as_ref().is_some_and(|schema| schema.check(value).is_ok()) {
            return Err(problem("has the form that the schema excludes (not)"));
        }
        Ok(())
    }

    fn check_object(&self, fields: &Map<String, Value>) -> std::result::Result<(), Problem> {
        if let Some(missing) = self.required.iter().find(|name| !fields.contains_key(*name)) {
            return Err(problem(format!("'{}' is missing", Shown(missing))));
        }
        if !self.property_count.holds(fields.len() as u64) {
            return Err(problem(format!("expected {} properties, found {}", self.property_count, fields.len())));
        }
        for (name, value) in fields {
            let checked = match (self.properties.get(name), &self.additional) {
                (Some(schema), _) => schema.check(value),
                (None, Some(schema)) if schema.never => {
                    let known: Vec<_> = self.properties.keys().map(String::as_str).collect();
                    let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
                    return Err(problem(format!("'{}' is not known; the schema has {known}", super::brief(name, 80))));
                }
                (None, Some(schema)) => schema.check(value),
                (None, None) => Ok(()),
            };
            checked.map_err(|problem| problem.below(name.clone()))?;
        }
        Ok(())
    }

    fn check_array(&self, items: &[Value]) -> std::result::Result<(), Problem> {
        if !self.item_count.holds(items.len() as u64) {
            return Err(problem(format!("expected {} items, found {}", self.item_count, items.len())));
        }
        if let Some(schema) = &self.items {
            for (index, item) in items.iter().enumerate() {
                schema.check(item).map_err(|problem| problem.below(format!("[{index}]")))?;
            }
        }
        if self.unique {
            let mut seen = std::collections::HashSet::with_capacity(items.len());
            if let Some(index) = items.iter().position(|item| !seen.insert(crate::approval::canonical(item))) {
                return Err(problem("stands there twice").below(format!("[{index}]")));
            }
        }
        Ok(())
    }

    fn check_text(&self, text: &str) -> std::result::Result<(), Problem> {
        let count = text.chars().count() as u64;
        if !self.length.holds(count) {
            return Err(problem(format!("expected {} characters, found {count}", self.length)));
        }
        match &self.pattern {
            Some((pattern, regex)) if !regex.is_match(text) => {
                Err(problem(format!("does not match the pattern {}", super::brief(pattern, 200))))
            }
            _ => Ok(()),
        }
    }

    fn check_number(&self, number: &Number) -> std::result::Result<(), Problem> {
        let value = number.as_f64().unwrap_or(f64::NAN);
        let bounds = [
            (self.minimum, "at least", value >= self.minimum.unwrap_or(value)),
            (self.maximum, "at most", value <= self.maximum.unwrap_or(value)),
            (self.above, "more than", self.above.is_none_or(|bound| value > bound)),
            (self.below, "less than", self.below.is_none_or(|bound| value < bound)),
        ];
        for (bound, word, holds) in bounds {
            if let (Some(bound), false) = (bound, holds) {
                return Err(problem(format!("expected {word} {bound}, found {number}")));
            }
        }
        match self.multiple_of {
            // A quotient such as 0.3 / 0.1 is not whole to the last bit.
            Some(unit) if ((value / unit) - (value / unit).round()).abs() > 1e-9 => {
                Err(problem(format!("expected a multiple of {unit}, found {number}")))
            }
            _ => Ok(()),
        }
    }
}

impl Problem {
    fn below(mut self, step: String) -> Self {
        self.place.push(step);
        self
    }
}

fn problem(what: impl Into<String>) -> Problem {
    Problem { place: Vec::new(), what: what.into() }
}

fn shown_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// As JSON Schema compares: `1` and `1.0` are one number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

fn compile(schema: &Value, depth: usize, count: &mut usize) -> Result<InputSchema> {
    *count += 1;
    if depth > MAX_DEPTH || *count > MAX_SCHEMAS {
        return Err(Error::invalid(format!(
            "it is deeper than {MAX_DEPTH} levels or has more than {MAX_SCHEMAS} parts."
        )));
    }
    let fields = match schema {
        Value::Object(fields) => fields,
        Value::Bool(fits) => return Ok(InputSchema { never: !fits, ..InputSchema::default() }),
        _ => return Err(Error::invalid("a schema must be an object, true or false.")),
    };
    let mut compiled = InputSchema::default();
    for (keyword, value) in fields {
        let wrong = || Error::invalid(format!("the value of `{keyword}` is not right."));
        let mut below = |value: &Value| compile(value, depth + 1, count);
        match keyword.as_str() {
            "type" => {
                let names: Vec<&Value> = match value {
                    Value::Array(names) => names.iter().collect(),
                    name => vec![name],
                };
                let kinds = names.into_iter().map(|name| name.as_str().and_then(Kind::named));
                compiled.types = Some(kinds.collect::<Option<_>>().ok_or_else(wrong)?);
            }
            "enum" => compiled.values = Some(value.as_array().ok_or_else(wrong)?.clone()),
            "const" => compiled.values = Some(vec![value.clone()]),
            "properties" => {
                for (name, value) in value.as_object().ok_or_else(wrong)? {
                    compiled.properties.insert(name.clone(), below(value)?);
                }
            }
            "required" => {
                let names = value.as_array().ok_or_else(wrong)?.iter().map(|name| name.as_str().map(str::to_owned));
                compiled.required = names.collect::<Option<_>>().ok_or_else(wrong)?;
            }
            "additionalProperties" => compiled.additional = Some(Box::new(below(value)?)),
            "items" => compiled.items = Some(Box::new(below(value)?)),
            "minItems" => compiled.item_count.min = Some(value.as_u64().ok_or_else(wrong)?),
            "maxItems" => compiled.item_count.max = Some(value.as_u64().ok_or_else(wrong)?),
            "uniqueItems" => compiled.unique = value.as_bool().ok_or_else(wrong)?,
            "minProperties" => compiled.property_count.min = Some(value.as_u64().ok_or_else(wrong)?),
            "maxProperties" => compiled.property_count.max = Some(value.as_u64().ok_or_else(wrong)?),
            "minLength" => compiled.length.min = Some(value.as_u64().ok_or_else(wrong)?),
            "maxLength" => compiled.length.max = Some(value.as_u64().ok_or_else(wrong)?),
            "pattern" => {
                let pattern = value.as_str().ok_or_else(wrong)?;
                compiled.pattern = Some((pattern.to_owned(), regex(pattern)?));
            }
            "minimum" => compiled.minimum = Some(value.as_f64().ok_or_else(wrong)?),
            "maximum" => compiled.maximum = Some(value.as_f64().ok_or_else(wrong)?),
            "exclusiveMinimum" => compiled.above = Some(value.as_f64().ok_or_else(wrong)?),
            "exclusiveMaximum" => compiled.below = Some(value.as_f64().ok_or_else(wrong)?),
            "multipleOf" => {
                compiled.multiple_of = Some(value.as_f64().filter(|unit| *unit > 0.0).ok_or_else(wrong)?);
            }
            "allOf" => {
                compiled.all_of = value.as_array().ok_or_else(wrong)?.iter().map(below).collect::<Result<_>>()?
            }
            "anyOf" => {
                compiled.any_of = Some(value.as_array().ok_or_else(wrong)?.iter().map(below).collect::<Result<_>>()?)
            }
            "oneOf" => {
                compiled.one_of = Some(value.as_array().ok_or_else(wrong)?.iter().map(below).collect::<Result<_>>()?)
            }
            "not" => compiled.not = Some(Box::new(below(value)?)),
            known if ANNOTATIONS.contains(&known) || known.starts_with("x-") => {}
            _ => {
                return Err(Error::invalid(format!(
                    "the keyword `{}` is not one that is kept here. Write the schema without it, or give a Standard Schema that validates for itself.",
                    Shown(keyword)
                )));
            }
        }
    }
    Ok(compiled)
}

fn regex(pattern: &str) -> Result<Regex> {
    Regex::builder()
        .configure(Regex::config().nfa_size_limit(Some(PATTERN_BYTES)).hybrid_cache_capacity(PATTERN_BYTES))
        .build(pattern)
        .map_err(|_| {
            Error::invalid(format!(
                "the pattern '{}' is not a regular expression of linear time (no look-around, no back-references).",
                Shown(pattern)
            ))
        })
}
