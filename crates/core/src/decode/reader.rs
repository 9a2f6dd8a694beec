//! Reads a JSON value as what a type asks for, and notes where it is something else.

use std::fmt;
use std::vec;

use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value, map};

/// A value that is not what was asked for.
#[derive(Debug)]
pub(super) struct Wrong(Box<(String, String)>);

impl Wrong {
    /// What is wrong, and the place of it: empty, or such as `edits[0].path`.
    pub(super) fn into_parts(self) -> (String, String) {
        *self.0
    }

    /// The same, found within this step of a place.
    fn within(mut self, step: &str) -> Self {
        let place = &mut self.0.1;
        if !place.is_empty() && !place.starts_with('[') {
            place.insert(0, '.');
        }
        place.insert_str(0, step);
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.0)
    }
}

impl std::error::Error for Wrong {}

impl serde::de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Box::new((message.to_string(), String::new())))
    }
}

/// A value that is read once.
pub(super) struct Reader(pub(super) Value);

/// What a value is, where another was expected.
fn other(value: &Value, expected: &dyn Expected) -> Wrong {
    let found = match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Unexpected::Unsigned(number),
            (None, Some(number)) => Unexpected::Signed(number),
            (None, None) => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    Wrong::invalid_type(found, expected)
}

impl<'de> Deserializer<'de> for Reader {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => {
                let mut items = Items { items: items.into_iter(), index: 0 };
                let value = visitor.visit_seq(&mut items)?;
                match items.items.len() {
                    0 => Ok(value),
                    _ => Err(Wrong::custom("there are too many items")),
                }
            }
            Value::Object(fields) => visitor.visit_map(Fields::of(fields)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    /// An array names no fields.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::Object(fields) => visitor.visit_map(Fields::of(fields)),
            value => Err(other(&value, &"an object")),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(Choice { name, content: None }),
            Value::Object(fields) if fields.len() == 1 => match fields.into_iter().next() {
                Some((name, content)) => visitor.visit_enum(Choice { name, content: Some(content) }),
                None => Err(Wrong::custom("expected a string")),
            },
            value => Err(other(&value, &"a string")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

impl IntoDeserializer<'_, Wrong> for Reader {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

struct Items {
    items: vec::IntoIter<Value>,
    index: usize,
}

impl<'de> SeqAccess<'de> for &mut Items {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Wrong> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(Reader(item)).map(Some).map_err(|wrong| wrong.within(&format!("[{index}]")))
    }
}

struct Fields {
    fields: map::IntoIter,
    /// The field whose name was read.
    field: Option<(String, Value)>,
}

impl Fields {
    fn of(fields: Map<String, Value>) -> Self {
        Self { fields: fields.into_iter(), field: None }
    }
}

impl<'de> MapAccess<'de> for Fields {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        let Some((name, value)) = self.fields.next() else { return Ok(None) };
        let named: StringDeserializer<Wrong> = name.clone().into_deserializer();
        self.field = Some((name, value));
        seed.deserialize(named).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Wrong> {
        let (name, value) = self.field.take().ok_or_else(|| Wrong::custom("a value has no name"))?;
        seed.deserialize(Reader(value)).map_err(|wrong| wrong.within(&name))
    }
}

/// One of several, with what it holds.
struct Choice {
    name: String,
    content: Option<Value>,
}

impl<'de> EnumAccess<'de> for Choice {
    type Error = Wrong;
    type Variant = Content;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Content), Wrong> {
        let Self { name, content } = self;
        let named: StringDeserializer<Wrong> = name.into_deserializer();
        Ok((seed.deserialize(named)?, Content(content)))
    }
}

struct Content(Option<Value>);

impl<'de> VariantAccess<'de> for Content {
    type Error = Wrong;

    fn unit_variant(self) -> Result<(), Wrong> {
        match self.0 {
            None => Ok(()),
            Some(value) => Err(other(&value, &"nothing")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Wrong> {
        seed.deserialize(Reader(self.0.unwrap_or_default()))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Wrong> {
        Reader(self.0.unwrap_or_default()).deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Wrong> {
        Reader(self.0.unwrap_or_default()).deserialize_any(visitor)
    }
}
