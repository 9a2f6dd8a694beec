//! The tasks of a walk, shared by its threads: last in, first out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex};

use super::Node;
use crate::search::filter::Place;
use crate::search::ignore_rules::Rules;
use crate::search::tree::{EntryKind, Obstacle};

/// What a thread takes on at once.
pub(super) enum Task<'a, D> {
    /// A directory below one that is open.
    Enter { parent: Arc<Node<'a, D>>, name: Box<[u8]>, place: Place },
    /// A directory to go down to from the root.
    EnterFromRoot { path: Vec<u8>, level: u32, place: Place, rules: Option<Arc<Rules>> },
    /// Files to look into.
    Files { directory: Arc<Node<'a, D>>, files: Vec<(Box<[u8]>, EntryKind)> },
}

/// What is left to do.
pub(super) struct Queue<'a, D> {
    state: Mutex<QueueState<'a, D>>,
    changed: Condvar,
    /// Set when the search is to end early.
    pub(super) stop: AtomicBool,
    /// Set when something was left out.
    pub(super) incomplete: AtomicBool,
}

struct QueueState<'a, D> {
    tasks: Vec<Task<'a, D>>,
    /// Threads that hold a task and may add others.
    busy: usize,
    waiting: usize,
}

impl<D> Default for Queue<'_, D> {
    fn default() -> Self {
        Self {
            state: Mutex::new(QueueState { tasks: Vec::new(), busy: 0, waiting: 0 }),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
            incomplete: AtomicBool::new(false),
        }
    }
}

impl<'a, D> Queue<'a, D> {
    /// Takes note of an obstacle that makes the answer incomplete.
    pub(super) fn note(&self, obstacle: Obstacle) {
        match obstacle {
            Obstacle::Unusable => {}
            Obstacle::Exhausted => self.incomplete.store(true, Ordering::Relaxed),
        }
    }

    /// Adds tasks and empties `tasks`. Returns how many are waiting for a thread.
    pub(super) fn add(&self, tasks: &mut Vec<Task<'a, D>>) -> usize {
        if tasks.is_empty() {
            return 0;
        }
        let mut state = self.state.lock();
        state.tasks.append(tasks);
        let (open, waiting) = (state.tasks.len(), state.waiting);
        drop(state);
        match waiting {
            0 => {}
            1 => {
                self.changed.notify_one();
            }
            _ => {
                self.changed.notify_all();
            }
        }
        open
    }

    /// The next task, or `None` when there is none and no thread is left that could add one.
    pub(super) fn next(&self) -> Option<Task<'a, D>> {
        let mut state = self.state.lock();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(task) = state.tasks.pop() {
                state.busy += 1;
                return Some(task);
            }
            if state.busy == 0 {
                return None;
            }
            state.waiting += 1;
            self.changed.wait(&mut state);
            state.waiting -= 1;
        }
    }

    /// Ends the search early.
    pub(super) fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // Under the lock, so that no thread is between its look at `stop` and its wait.
        drop(self.state.lock());
        self.changed.notify_all();
    }
}

/// Held while a thread works on a task; lets go of it also when the thread panics, so that no other waits for ever.
pub(super) struct Busy<'q, 'a, D>(pub(super) &'q Queue<'a, D>);

impl<D> Drop for Busy<'_, '_, D> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
        let mut state = self.0.state.lock();
        state.busy -= 1;
        let over = state.busy == 0 && state.tasks.is_empty();
        drop(state);
        if over {
            self.0.changed.notify_all();
        }
    }
}
