//! Questions that an engine refuses while it is about a container, and answers a moment later.
//!
//! Podman cleans up behind the end of a container in a process of its own, and holds nobody up meanwhile: what it is asked of that
//! container then fails at whatever is half gone. It refuses the same way for good, so nobody is asked for ever.

use std::time::Duration;

use super::client::Failure;

/// 100 ms from a refusal to the next question.
const LOOK: Duration = Duration::from_millis(100);

/// What comes of `ask`, asked again `more` times at the most while it is refused with what `passes`.
pub(super) async fn settled<T, Asked: Future<Output = Result<T, Failure>>>(
    more: usize,
    passes: impl Fn(&Failure) -> bool,
    ask: impl Fn() -> Asked,
) -> Result<T, Failure> {
    for _ in 0..more {
        match ask().await {
            Err(failure) if passes(&failure) => tokio::time::sleep(LOOK).await,
            answer => return answer,
        }
    }
    ask().await
}
