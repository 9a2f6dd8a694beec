//! The call's guard, asked by a part in its own paths: it hears the paths of the tree, and what belongs to another part
//! is denied before it is asked.

use std::sync::Arc;

use super::routes::Routes;
use crate::access::{Guard, Operation};
use crate::backend::Call;
use crate::error::Result;
use crate::path::VirtualPath;
use crate::sandbox::not_in_sandbox;

struct RouteGuard {
    routes: Arc<Routes>,
    part: usize,
    guard: Arc<dyn Guard>,
}

/// `call`, for the part at `index`.
pub(super) fn within(call: &Call, routes: &Arc<Routes>, index: usize) -> Call {
    let guard = RouteGuard { routes: Arc::clone(routes), part: index, guard: Arc::clone(&call.guard) };
    Call { deadline: call.deadline.clone(), guard: Arc::new(guard) }
}

impl Guard for RouteGuard {
    fn check(&self, operation: Operation, path: &VirtualPath) -> Result<()> {
        let part = &self.routes.parts()[self.part];
        let outer = part.outer(path).filter(|path| self.routes.owner(path).0 == self.part);
        let Some(outer) = outer else {
            // Where the route keeps its paths, its backend makes the directories above it for itself.
            if !part.strips() && part.prefix.is_within(path) && operation == Operation::Write {
                return Ok(());
            }
            return Err(not_in_sandbox(path.as_str(), &self.routes.readable_roots()));
        };
        self.guard.check(operation, &outer).map_err(|error| part.retell(error))
    }

    fn is_open(&self) -> bool {
        let part = &self.routes.parts()[self.part];
        self.guard.is_open() && !self.routes.holds_route(&part.prefix)
    }
}
