//! Programs that commands gave another name: `ln -s /usr/bin/sudo x` in one call makes `./x` in the next what it is.
//!
//! What another program lays, nobody sees: it could as well hold those commands itself.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// 4,096 names; somebody is asked before more are given.
const NAMES: usize = 4_096;

/// The names, and what each stands for.
#[derive(Default)]
pub(super) struct Programs(Mutex<Arc<HashMap<String, String>>>);

impl Programs {
    /// All that are known.
    pub(super) fn known(&self) -> Arc<HashMap<String, String>> {
        Arc::clone(&self.0.lock())
    }

    /// Whether these can be remembered too.
    pub(super) fn have_room(&self, renamed: &[(String, String)]) -> bool {
        renamed.is_empty() || self.0.lock().len() + renamed.len() <= NAMES
    }

    /// Takes commands to have run that give these names, before they do.
    pub(super) fn rename(&self, renamed: Vec<(String, String)>) {
        if !renamed.is_empty() {
            let mut known = self.0.lock();
            let room = NAMES.saturating_sub(known.len());
            Arc::make_mut(&mut known).extend(renamed.into_iter().take(room));
        }
    }
}
