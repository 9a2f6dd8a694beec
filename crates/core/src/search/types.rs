//! File types by name: `ts`, `rust`, `md`.

use ignore::types::TypesBuilder;

use crate::error::{Error, Result, Shown};

/// The globs of file names that `types` stand for; none for no types. `InvalidInput` for a type that nobody knows.
pub(super) fn globs(types: &[String]) -> Result<Vec<String>> {
    if types.is_empty() {
        return Ok(Vec::new());
    }
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let known = builder.definitions();
    let mut globs = Vec::new();
    for name in types {
        match known.iter().find(|definition| definition.name() == name) {
            Some(definition) => globs.extend(definition.globs().iter().cloned()),
            None => {
                return Err(Error::invalid(format!(
                    "There is no file type '{}'; types are called as in 'ts', 'js', 'py', 'rust', 'go', 'java', 'cpp', \
                     'html', 'css', 'json', 'yaml' and 'md'. A glob such as '*.xyz' takes any suffix.",
                    Shown(&name.chars().take(40).collect::<String>())
                )));
            }
        }
    }
    Ok(globs)
}
