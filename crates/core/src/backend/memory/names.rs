//! [`Names`]: the entries of one directory, sorted by name and shared between snapshots.
//!
//! A list of sorted runs, each behind an `Arc`. Copying the list costs one reference count for each run and no entry;
//! a change after that copies the one run that it touches. A small directory is a single run: one allocation, read in
//! order. This module knows nothing of files.

use std::sync::Arc;

/// 64 entries a run: a change copies at most 2 KiB, and the list of runs of 10,000 entries is copied in a microsecond.
const RUN: usize = 64;

type Entry<T> = (Arc<str>, T);

/// A map from names to `T`, in the order of the names' bytes.
#[derive(Debug, Clone)]
pub(super) struct Names<T> {
    /// Never holds an empty run; runs and the entries within them ascend.
    runs: Vec<Arc<Vec<Entry<T>>>>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { runs: Vec::new() }
    }
}

impl<T: Clone> Names<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The count of entries, without looking at each.
    pub(super) fn len(&self) -> usize {
        self.runs.iter().map(|run| run.len()).sum()
    }

    pub(super) fn get(&self, name: &str) -> Option<&T> {
        let run = self.runs.get(self.run_of(name))?;
        let at = position(run, name).ok()?;
        run.get(at).map(|(_, value)| value)
    }

    /// The value to change; what another snapshot shares is copied first.
    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        let index = self.run_of(name);
        let run = self.runs.get_mut(index)?;
        let at = position(run, name).ok()?;
        Arc::make_mut(run).get_mut(at).map(|(_, value)| value)
    }

    /// Sets the value of `name` and returns the one that it had.
    pub(super) fn insert(&mut self, name: &str, value: T) -> Option<T> {
        let index = self.run_of(name);
        let Some(shared) = self.runs.get_mut(index) else {
            self.runs.push(Arc::new(vec![(name.into(), value)]));
            return None;
        };
        let found = position(shared, name);
        let run = Arc::make_mut(shared);
        match found {
            Ok(at) => run.get_mut(at).map(|(_, old)| std::mem::replace(old, value)),
            Err(at) => {
                run.insert(at, (name.into(), value));
                if run.len() > RUN {
                    // Names that arrive in order leave full runs behind, not half-full ones.
                    let cut = if at == RUN { RUN } else { RUN / 2 };
                    let tail = run.split_off(cut);
                    self.runs.insert(index + 1, Arc::new(tail));
                }
                None
            }
        }
    }

    /// Removes `name` and returns its value.
    pub(super) fn remove(&mut self, name: &str) -> Option<T> {
        let index = self.run_of(name);
        let shared = self.runs.get_mut(index)?;
        let at = position(shared, name).ok()?;
        let run = Arc::make_mut(shared);
        let (_, value) = run.remove(at);
        if run.is_empty() {
            self.runs.remove(index);
        }
        Some(value)
    }

    /// All entries, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.runs.iter().flat_map(|run| run.iter()).map(|(name, value)| (&**name, value))
    }

    /// The run that holds `name`, or would: the last one that does not begin after it.
    fn run_of(&self, name: &str) -> usize {
        self.runs.partition_point(|run| run.first().is_some_and(|(first, _)| &**first <= name)).saturating_sub(1)
    }
}

fn position<T>(run: &[Entry<T>], name: &str) -> Result<usize, usize> {
    run.binary_search_by(|(other, _)| (**other).cmp(name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Insert(String, u32),
        Change(String, u32),
        Remove(String),
        Snapshot,
    }

    fn step() -> impl Strategy<Value = Step> {
        let name = || (0_u32..400).prop_map(|number| format!("name-{number}"));
        prop_oneof![
            6 => (name(), any::<u32>()).prop_map(|(name, value)| Step::Insert(name, value)),
            1 => (name(), any::<u32>()).prop_map(|(name, value)| Step::Change(name, value)),
            3 => name().prop_map(Step::Remove),
            1 => Just(Step::Snapshot),
        ]
    }

    fn content(names: &Names<u32>) -> BTreeMap<String, u32> {
        let in_order: Vec<_> = names.iter().map(|(name, value)| (name.to_owned(), *value)).collect();
        assert!(in_order.is_sorted(), "the entries ascend");
        assert_eq!(in_order.len(), names.len());
        assert_eq!(names.is_empty(), in_order.is_empty());
        in_order.into_iter().collect()
    }

    proptest! {
        #[test]
        fn is_a_sorted_map_whose_snapshots_never_change(steps in prop::collection::vec(step(), 0..600)) {
            let mut names = Names::default();
            let mut model = BTreeMap::new();
            let mut snapshots = Vec::new();
            for step in steps {
                match step {
                    Step::Insert(name, value) => prop_assert_eq!(names.insert(&name, value), model.insert(name, value)),
                    Step::Change(name, value) => {
                        let (ours, theirs) = (names.get_mut(&name), model.get_mut(&name));
                        prop_assert_eq!(&ours, &theirs);
                        if let (Some(ours), Some(theirs)) = (ours, theirs) {
                            (*ours, *theirs) = (value, value);
                        }
                    }
                    Step::Remove(name) => {
                        prop_assert_eq!(names.get(&name), model.get(&name));
                        prop_assert_eq!(names.remove(&name), model.remove(&name));
                    }
                    Step::Snapshot => snapshots.push((names.clone(), model.clone())),
                }
            }
            snapshots.push((names, model));
            for (names, model) in snapshots {
                prop_assert_eq!(content(&names), model);
            }
        }
    }

    /// How many runs of `names` are not those of `other`.
    fn runs_of_its_own<T>(names: &Names<T>, other: &Names<T>) -> usize {
        names.runs.iter().filter(|run| !other.runs.iter().any(|shared| Arc::ptr_eq(run, shared))).count()
    }

    #[test]
    fn the_first_change_of_a_copy_copies_one_run_and_shares_the_others() {
        type Change = fn(&mut Names<usize>) -> Option<usize>;
        let mut names = Names::default();
        for number in 0..RUN * 100 {
            names.insert(&format!("{number:05}"), number);
        }
        let changes: [(&str, Change, usize); 4] = [
            ("another value", |names| names.get_mut("03200").map(std::mem::take), 1),
            ("a value set", |names| names.insert("03200", 0), 1),
            ("a name less", |names| names.remove("03200"), 1),
            // The run was full: it becomes two.
            ("a name more", |names| names.insert("03200a", 0), 2),
        ];
        for (what, change, copied) in changes {
            let mut copy = names.clone();
            assert_eq!(runs_of_its_own(&copy, &names), 0, "{what}");
            change(&mut copy);
            assert_eq!(runs_of_its_own(&copy, &names), copied, "{what}");
        }
    }

    #[test]
    fn names_in_order_fill_their_runs() {
        let mut names = Names::default();
        for number in 0..RUN * 10 {
            names.insert(&format!("{number:05}"), number);
        }
        assert_eq!(names.runs.len(), 10);
    }
}
