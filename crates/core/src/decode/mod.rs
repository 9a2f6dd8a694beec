//! JSON of a model or a program as typed values, or words for what is wrong with it: where, what is there, and what would work.
//!
//! All of it goes through a [`Value`]: the addon holds one reader of values for a type, and none of text.

use serde::de::DeserializeOwned;
use serde_json::Value;

use self::reader::{Reader, Wrong};
use crate::error::{Error, Result, Shown};

mod reader;

/// 400 characters of what is said of one value: a long one is left out in its middle.
const CHARACTERS: usize = 400;

/// Rust's words for types, and words that a model knows from schemas.
const WORDS: [(&str, &str); 16] = [
    ("expected u64", "expected a whole number that is not negative"),
    ("expected u32", "expected a whole number that is not negative"),
    ("expected usize", "expected a whole number that is not negative"),
    ("expected u16", "expected a whole number from 0 to 65535"),
    ("expected u8", "expected a whole number from 0 to 255"),
    ("expected f64", "expected a number"),
    ("expected a sequence", "expected an array"),
    ("expected a map", "expected an object"),
    ("expected a boolean", "expected true or false"),
    ("expected path string", "expected a string"),
    ("invalid type: map", "found an object"),
    ("invalid type: sequence", "found an array"),
    ("invalid type: null", "found null"),
    ("invalid type: unit value", "found null"),
    ("invalid type", "wrong type"),
    ("invalid value", "wrong value"),
];

/// Decodes a value. `whose` begins what is said of a wrong one, such as `The input of grep is`.
pub fn decode<T: DeserializeOwned>(whose: &str, value: Value) -> Result<T> {
    T::deserialize(Reader(value)).map_err(|wrong| refused(whose, wrong))
}

/// As [`decode`], of JSON text.
pub fn decode_text<T: DeserializeOwned>(whose: &str, json: &str) -> Result<T> {
    decode(whose, value_of(whose, json)?)
}

fn value_of(whose: &str, json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(|error| Error::invalid(format!("{whose} not JSON: {error}.")))
}

fn refused(whose: &str, wrong: Wrong) -> Error {
    let (message, place) = wrong.into_parts();
    let place = if place.is_empty() { String::new() } else { format!(" at '{}'", Shown(&place)) };
    Error::invalid(format!("{whose} not right{place}: {}.", plain_words(&message)))
}

fn plain_words(message: &str) -> String {
    let mut message = Shown(message).to_string();
    for (rust, plain) in WORDS {
        message = message.replace(rust, plain);
    }
    let count = message.chars().count();
    if count <= CHARACTERS {
        return message;
    }
    // What was expected stands at the end.
    let border = |index: usize| message.char_indices().nth(index).map_or(message.len(), |(position, _)| position);
    format!("{}…{}", &message[..border(CHARACTERS / 2)], &message[border(count - CHARACTERS / 2)..])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    struct Options {
        timeout: Option<u64>,
        cwd: Option<String>,
        env: Option<BTreeMap<String, String>>,
        columns: Option<u16>,
        on_timeout: Option<OnTimeout>,
        seconds: Option<f64>,
        keys: Vec<String>,
        block: bool,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum OnTimeout {
        End,
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_there_and_what_would_work() {
        let long = "x".repeat(1_000);
        for (json, expected) in [
            (
                r#"{"timeout":"5"}"#,
                r#"not right at 'timeout': wrong type: string "5", expected a whole number that is not negative."#,
            ),
            (
                r#"{"timeout":-1}"#,
                "not right at 'timeout': wrong value: integer `-1`, expected a whole number that is not negative.",
            ),
            (
                r#"{"timeout":0.5}"#,
                "not right at 'timeout': wrong type: floating point `0.5`, expected a whole number that is not negative.",
            ),
            (r#"{"cwd":3}"#, "not right at 'cwd': wrong type: integer `3`, expected a string."),
            (r#"{"env":{"A":1}}"#, "not right at 'env.A': wrong type: integer `1`, expected a string."),
            (r#"{"env":["A=1"]}"#, "not right at 'env': found an array, expected an object."),
            (
                r#"{"columns":70000}"#,
                "not right at 'columns': wrong value: integer `70000`, expected a whole number from 0 to 65535.",
            ),
            (r#"{"onTimeout":"wait"}"#, "not right at 'onTimeout': unknown variant `wait`, expected `end`."),
            (r#"{"seconds":"1"}"#, r#"not right at 'seconds': wrong type: string "1", expected a number."#),
            (r#"{"keys":"up"}"#, r#"not right at 'keys': wrong type: string "up", expected an array."#),
            (r#"{"keys":["up",{}]}"#, "not right at 'keys[1]': found an object, expected a string."),
            (r#"{"block":null}"#, "not right at 'block': found null, expected true or false."),
            ("[]", "not right: found an array, expected an object."),
            ("{", "not JSON: EOF while parsing an object at line 1 column 1."),
        ] {
            let error = decode_text::<Options>("The options are", json).unwrap_err();
            assert_eq!(error.message(), format!("The options are {expected}"), "{json}");
        }
        let error = decode_text::<Options>("The options are", &format!(r#"{{"block":"{long}"}}"#)).unwrap_err();
        assert!(error.message().ends_with("xx\", expected true or false."), "{error}");
        assert!(error.message().chars().count() < CHARACTERS + 60, "{error}");
        assert_eq!(decode_text::<Options>("", r#"{"timeout":null}"#).unwrap(), Options::default());
    }
}
