//! The files of a [`StateBackend`](super::StateBackend) as one JSON document, to write and to read (BE-3, BE-42, BE-43).
//!
//! Documents of earlier versions and of other libraries load: without `encoding`, without times, with `content` as one
//! text, with fields that mean nothing here. What is written is always plain JSON, streamed from a snapshot.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::display::Base64Display;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::tree::{Directory, File, Node, Times, Tree};
use super::{StateLimits, time};
use crate::error::{Error, Result, Shown};
use crate::path::VirtualPath;

/// Files by path, as they were written down.
#[derive(Debug, Default)]
pub struct Document(Vec<(String, Stored)>);

#[derive(Debug)]
enum Stored {
    Text(String),
    File(StoredFile),
}

#[derive(Debug, Deserialize)]
struct StoredFile {
    content: Content,
    #[serde(default, alias = "createdAt")]
    created_at: Option<String>,
    #[serde(default, alias = "modifiedAt")]
    modified_at: Option<String>,
    #[serde(default)]
    encoding: Option<String>,
}

/// The text of a file: as one, or its lines without their `\n`.
#[derive(Debug)]
struct Content(String);

impl Document {
    /// Adds a file with its exact content.
    #[must_use]
    pub fn with_file(mut self, path: impl Into<String>, content: &[u8]) -> Self {
        let path = path.into();
        self.0.push((
            path,
            match std::str::from_utf8(content) {
                Ok(text) => Stored::Text(text.to_owned()),
                Err(_) => Stored::File(StoredFile {
                    content: Content(STANDARD.encode(content)),
                    created_at: None,
                    modified_at: None,
                    encoding: Some("base64".to_owned()),
                }),
            },
        ));
        self
    }

    pub(super) fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| {
            Error::invalid(format!(
                "The document is not one of files by path ({error}). Expected: {{\"/path\": {{\"content\": [\"line\"]}}}}."
            ))
        })
    }

    /// Puts every file where it belongs. Directories that are only named are made last.
    pub(super) fn load_into(self, tree: &mut Tree, limits: &StateLimits) -> Result<()> {
        let root = VirtualPath::root();
        let mut directories = Vec::new();
        for (key, stored) in self.0 {
            let path = VirtualPath::parse(&key, &root)?;
            if key.ends_with('/') && stored.is_empty() {
                directories.push((path, stored));
                continue;
            }
            let (bytes, times) = stored.into_file(&path, tree)?;
            let put = tree.put(&path, bytes, Some(times), limits)?;
            if !put.created {
                return Err(about(&path, "is named twice; each path can hold one file."));
            }
        }
        for (path, stored) in directories {
            tree.make_directory(&path, limits)?;
            if let Stored::File(StoredFile { modified_at: Some(text), .. }) = stored {
                tree.set_directory_time(&path, read_time(&path, &text)?);
            }
        }
        Ok(())
    }
}

impl Stored {
    fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::File(file) => file.content.0.is_empty(),
        }
    }

    fn into_file(self, path: &VirtualPath, tree: &mut Tree) -> Result<(Vec<u8>, Times)> {
        let file = match self {
            Self::Text(text) => {
                let now = tree.tick();
                return Ok((text.into_bytes(), Times { created_ns: now, modified_ns: now }));
            }
            Self::File(file) => file,
        };
        let created = file.created_at.map(|text| read_time(path, &text)).transpose()?;
        let modified = file.modified_at.map(|text| read_time(path, &text)).transpose()?;
        // One time alone stands for both.
        let (created_ns, modified_ns) = match (created, modified) {
            (Some(created), Some(modified)) => (created, modified),
            (Some(only), None) | (None, Some(only)) => (only, only),
            (None, None) => {
                let now = tree.tick();
                (now, now)
            }
        };
        let Content(text) = file.content;
        let bytes = match file.encoding.as_deref() {
            None | Some("utf-8" | "utf8" | "text") => text.into_bytes(),
            Some("base64") => decode(path, &text)?,
            Some(other) => {
                let message = format!("has the encoding '{}'; 'utf-8' and 'base64' are known.", Shown(other));
                return Err(about(path, &message));
            }
        };
        Ok((bytes, Times { created_ns, modified_ns }))
    }
}

/// Reads base64 with or without padding; white space, which some writers put between lines, is no part of it.
fn decode(path: &VirtualPath, text: &str) -> Result<Vec<u8>> {
    let text: Cow<'_, str> = if text.contains(char::is_whitespace) {
        Cow::Owned(text.split_whitespace().collect())
    } else {
        Cow::Borrowed(text)
    };
    STANDARD_NO_PAD
        .decode(text.trim_end_matches('='))
        .map_err(|_| about(path, "says that it is base64, but its content is not."))
}

fn read_time(path: &VirtualPath, text: &str) -> Result<i64> {
    time::parse(text).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        let message = format!(
            "has the time '{}', which cannot be read; write it like 2026-01-31T12:00:00Z, between 1677 and 2262.",
            Shown(&shown)
        );
        about(path, &message)
    })
}

fn about(path: &VirtualPath, what: &str) -> Error {
    Error::invalid(format!("'{}' {what}", Shown(path.as_str()))).with_path(path.as_str())
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Files;
        impl<'de> Visitor<'de> for Files {
            type Value = Document;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of files by path")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
                let mut files = Vec::new();
                while let Some(file) = map.next_entry()? {
                    files.push(file);
                }
                Ok(Document(files))
            }
        }
        deserializer.deserialize_map(Files)
    }
}

/// Told apart by the first token, so that nothing is held twice.
impl<'de> Deserialize<'de> for Stored {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrFile;
        impl<'de> Visitor<'de> for TextOrFile {
            type Value = Stored;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text, or an object with 'content'")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Stored, E> {
                Ok(Stored::Text(text.to_owned()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Stored, E> {
                Ok(Stored::Text(text))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Stored, A::Error> {
                StoredFile::deserialize(MapAccessDeserializer::new(map)).map(Stored::File)
            }
        }
        deserializer.deserialize_any(TextOrFile)
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrLines;
        impl<'de> Visitor<'de> for TextOrLines {
            type Value = Content;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text, or a list of lines")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
                Ok(Content(text.to_owned()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Content, E> {
                Ok(Content(text))
            }

            /// Joined as they come: a list of lines takes several times the room of their text.
            fn visit_seq<A: SeqAccess<'de>>(self, mut lines: A) -> Result<Content, A::Error> {
                let mut text: String = lines.next_element()?.unwrap_or_default();
                while let Some(line) = lines.next_element::<Cow<'_, str>>()? {
                    text.push('\n');
                    text.push_str(&line);
                }
                Ok(Content(text))
            }
        }
        deserializer.deserialize_any(TextOrLines)
    }
}

/// Writes a snapshot as JSON, by path.
pub(super) fn write(tree: &Tree) -> Result<String> {
    serde_json::to_string(&Written(tree)).map_err(|_| Error::internal("The files could not be written as JSON."))
}

struct Written<'a>(&'a Tree);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut path = String::new();
        // Each open directory, with the length of its path.
        let mut open = vec![(0, self.0.root().entries.iter())];
        while let Some((length, entries)) = open.last_mut() {
            path.truncate(*length);
            let Some((name, node)) = entries.next() else {
                open.pop();
                continue;
            };
            path.push('/');
            path.push_str(name);
            match node {
                Node::File(file) => map.serialize_entry(&path, &**file)?,
                Node::Directory(directory) if directory.entries.is_empty() => {
                    path.push('/');
                    map.serialize_entry(&path, &**directory)?;
                }
                Node::Directory(directory) => {
                    let length = path.len();
                    open.push((length, directory.entries.iter()));
                }
            }
        }
        map.end()
    }
}

impl Serialize for File {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = std::str::from_utf8(&self.bytes);
        let mut file = serializer.serialize_struct("FileData", if text.is_ok() { 3 } else { 4 })?;
        match text {
            Ok(text) => file.serialize_field("content", &Lines(text))?,
            Err(_) => file.serialize_field("content", &[Base64(&self.bytes)])?,
        }
        file.serialize_field("created_at", &time::format(self.created_ns))?;
        file.serialize_field("modified_at", &time::format(self.modified_ns))?;
        if text.is_err() {
            file.serialize_field("encoding", "base64")?;
        }
        file.end()
    }
}

/// An empty directory, as an empty file whose path ends with `/`.
impl Serialize for Directory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let time = time::format(self.modified_ns);
        let mut directory = serializer.serialize_struct("FileData", 3)?;
        directory.serialize_field("content", &[(); 0])?;
        directory.serialize_field("created_at", &time)?;
        directory.serialize_field("modified_at", &time)?;
        directory.end()
    }
}

struct Lines<'a>(&'a str);

impl Serialize for Lines<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.split('\n'))
    }
}

struct Base64<'a>(&'a [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0, &STANDARD))
    }
}
