//! Names with a `..` behind another name: the kernel goes up from where that name leads, and not from the name itself.

use super::super::argument::{ANYTHING, is_marked};
use super::{Place, Places, is_within, normalised};

/// 32 times up behind a name; nobody follows more.
const STEPS_UP: usize = 32;

impl Places<'_> {
    /// Adds where such a name may lead besides what it says, and how it is spelled for those who can follow links.
    pub(super) fn see_dotted(&self, path: &str, place: &mut Place) {
        let steps_up = steps_up_behind_names(path);
        if steps_up == 0 {
            return;
        }
        let mut further = Vec::new();
        if steps_up > STEPS_UP || self.is_full() {
            further.push(ANYTHING.to_string());
        } else if path.starts_with('/') {
            self.follow_dotted(path.to_owned(), place, &mut further);
        } else {
            let (here, more): (&[String], &[String]) = match &self.here {
                Some(here) => (here, &[]),
                None => (&self.everywhere, &self.maybe),
            };
            for directory in here.iter().chain(more) {
                self.follow_dotted(format!("{directory}/{path}"), place, &mut further);
            }
        }
        place.paths.extend(further.into_iter().filter(|path| !place.paths.contains(path)).collect::<Vec<_>>());
    }

    /// Follows one spelling name by name through the links that are known.
    fn follow_dotted(&self, spelled: String, place: &mut Place, further: &mut Vec<String>) {
        let mut reached = String::with_capacity(spelled.len());
        let mut is_followed = false;
        let mut names = spelled.split('/').filter(|name| !matches!(*name, "" | ".")).peekable();
        let mut ups_left = names.clone().filter(|name| *name == "..").count();
        while let Some(name) = names.next() {
            if name != ".." {
                reached.push('/');
                reached.push_str(name);
                continue;
            }
            ups_left -= 1;
            let origin = self.origin(&reached, true);
            if is_marked(&reached) || !self.is_plain_directory(&reached) {
                further.push(ANYTHING.to_string());
                return;
            }
            if let Some(origin) = origin {
                reached = origin;
                is_followed = true;
            }
            reached.truncate(reached.rfind('/').unwrap_or_default());
            if ups_left == 0 && is_followed {
                let rest: Vec<&str> = names.by_ref().collect();
                further.push(normalised(&rest.join("/"), if reached.is_empty() { "/" } else { &reached }));
            }
        }
        place.dotted.push(spelled);
    }

    /// Whether links in this directory are known, or can be found out: those of the system are neither.
    fn is_plain_directory(&self, path: &str) -> bool {
        let is_around = |root: &str| is_within(path, root) || is_within(root, path);
        path.is_empty()
            || self.roots.iter().any(|root| is_around(root))
            || (self.roots.is_empty() && is_around(&self.base))
            || self.everywhere.iter().any(|directory| is_within(directory, path))
    }
}

/// How often a path goes up behind a name that is none of its leading `..`.
fn steps_up_behind_names(path: &str) -> usize {
    let names = path.split('/').skip_while(|name| matches!(*name, "" | "." | ".."));
    names.filter(|name| *name == "..").count()
}

/// A path in which each `..` takes the name in front of it away, as far as those are known.
pub(super) fn without_steps_up(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        match names.last() {
            Some(last) if name == ".." && *last != ".." && !is_marked(last) => {
                names.pop();
            }
            None if name == ".." && path.starts_with('/') => {}
            Some(_) | None => names.push(name),
        }
    }
    let start = if path.starts_with('/') { "/" } else { "./" };
    format!("{start}{}", names.join("/"))
}
