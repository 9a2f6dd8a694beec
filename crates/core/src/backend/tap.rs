//! What is handed the bytes of a terminal while it is read.

use std::pin::Pin;

/// Takes bytes; the look of [`Tap::take`].
type Take = dyn FnMut(&[u8], &dyn Fn() -> bool) -> bool + Send;
/// What is to be waited for, if anything is.
type Room = dyn Fn() -> Option<Later> + Send;
/// Takes what was said at the hatch.
type Hear = dyn FnMut(&[u8], &dyn Fn() -> bool) -> Heard + Send;
/// Ends when more can be taken.
pub type Later = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Takes the raw bytes of a terminal, in order, before anybody is told of them.
pub struct Tap {
    take: Box<Take>,
    room: Option<Box<Room>>,
    hatch: Option<Box<Hear>>,
}

/// What comes of what was said at the hatch of a terminal.
#[derive(Default)]
pub struct Heard {
    /// Is recorded as if the terminal had printed it.
    pub shown: Vec<u8>,
    /// Is said back.
    pub answer: Vec<u8>,
}

impl Tap {
    /// Hands them to `take`; see [`Tap::take`].
    pub fn new(take: impl FnMut(&[u8], &dyn Fn() -> bool) -> bool + Send + 'static) -> Self {
        Self { take: Box::new(take), room: None, hatch: None }
    }

    /// The same with what says whether it has enough for now: whoever reads the terminal waits before they read on.
    #[must_use]
    pub fn with_room(self, room: impl Fn() -> Option<Later> + Send + 'static) -> Self {
        Self { room: Some(Box::new(room)), ..self }
    }

    /// The same for a command that is to have a hatch: a socket as its descriptor 3, by which it and whoever has the process say to each
    /// other what is not for the terminal. What it says is handed to `hear` behind all that it printed before. A backend may have none
    /// to give.
    #[must_use]
    pub fn with_hatch(self, hear: impl FnMut(&[u8], &dyn Fn() -> bool) -> Heard + Send + 'static) -> Self {
        Self { hatch: Some(Box::new(hear)), ..self }
    }

    /// Whether the command is to have a hatch.
    pub fn has_hatch(&self) -> bool {
        self.hatch.is_some()
    }

    /// Takes what was said at the hatch, with the look of [`Tap::take`].
    pub fn hear(&mut self, bytes: &[u8], leads: &dyn Fn() -> bool) -> Heard {
        self.hatch.as_mut().map(|hear| hear(bytes, leads)).unwrap_or_default()
    }

    /// Takes the next bytes, and a look at the terminal's system: whether the process that leads the terminal has it, and no command that
    /// it started. Whether [`Process::marked`](super::process::Process::marked) tells of them too.
    pub fn take(&mut self, bytes: &[u8], leads: &dyn Fn() -> bool) -> bool {
        (self.take)(bytes, leads)
    }

    /// What is to be waited for before more is read; nothing where there is room.
    pub fn later(&self) -> Option<Later> {
        self.room.as_ref().and_then(|room| room())
    }
}
