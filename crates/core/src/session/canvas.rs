//! A screen that is drawn behind the output that it shows.
//!
//! What a program prints may be dear to draw: four bytes clear a quarter of a million cells. Whoever reads a terminal sees the end of its
//! program too, and others wait for the same thread. So they draw themselves only what is cheap, as nearly everything is. The rest
//! waits, in order, for a thread that may block, and when much waits nothing more is read: the program is held back, and only it. Who
//! looks waits for what was printed until then ([`Canvas::caught_up`]).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memchr::memmem;
use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::screen::Screen;
use crate::backend::process::TerminalSize;
use crate::backend::tap::{Later, Tap};
use crate::blocking::blocking;

/// 4 KiB are drawn at once by the thread that is behind: until then nobody is told how far it is.
const PART_BYTES: usize = 4 << 10;
/// 16 KiB wait to be drawn before nothing more is read.
const WAITING_BYTES: usize = 16 << 10;
/// 10 s for a look to see what was printed before it: several times what the most that can wait takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// Has the terminal begin anew.
const RESET: &[u8] = b"\x1bc";
/// Begins what may be a title, which outlives that.
const COMMAND: &[u8] = b"\x1b]";

/// A screen that a terminal draws on while others look.
pub struct Canvas {
    screen: Mutex<Screen>,
    /// What it has when all that waits is drawn.
    size: Mutex<TerminalSize>,
    /// Locked before the screen.
    waiting: Mutex<Waiting>,
    /// A part was drawn.
    drawn: Notify,
}

/// What is still to be drawn.
#[derive(Default)]
struct Waiting {
    parts: VecDeque<Part>,
    /// How much was ever given to wait, and how much of it waits no more: bytes, and one for each other part.
    given: u64,
    drawn: u64,
    /// Whether a thread draws, or is about to.
    is_busy: bool,
}

enum Part {
    Shown(Vec<u8>),
    /// The shell of the terminal waits for a command.
    Prompt,
    Size(TerminalSize),
    /// Nothing comes behind this.
    End,
}

impl Part {
    fn length(&self) -> u64 {
        match self {
            Self::Shown(bytes) => bytes.len() as u64,
            Self::Prompt | Self::Size(_) | Self::End => 1,
        }
    }
}

impl Canvas {
    /// Nothing is drawn yet.
    pub fn new(size: TerminalSize) -> Arc<Self> {
        let screen = Mutex::new(Screen::new(size));
        Arc::new(Self { screen, size: Mutex::new(size), waiting: Mutex::default(), drawn: Notify::new() })
    }

    /// The screen as far as it is drawn.
    pub fn lock(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock()
    }

    /// Ends when all that was shown until now is drawn, or when that takes too long.
    pub fn caught_up(self: &Arc<Self>) -> Later {
        let goal = self.waiting.lock().given;
        self.until(goal)
    }

    /// Ends when so much of what was given to wait is drawn, or when that takes too long. The same for all who wait: compiled once.
    fn until(self: &Arc<Self>, goal: u64) -> Later {
        let canvas = Arc::clone(self);
        Box::pin(async move {
            let give_up = Instant::now() + PATIENCE;
            loop {
                let drawn = canvas.drawn.notified();
                if canvas.waiting.lock().drawn >= goal {
                    return;
                }
                tokio::select! {
                    () = drawn => {}
                    () = tokio::time::sleep_until(give_up.into()) => return,
                }
            }
        })
    }

    /// What takes the bytes of a terminal by `take`, which shows them here.
    pub fn tap(self: &Arc<Self>, take: impl FnMut(&[u8], &dyn Fn() -> bool) -> bool + Send + 'static) -> Tap {
        let canvas = Arc::clone(self);
        Tap::new(take).with_room(move || {
            let goal = canvas.waiting.lock().behind()?;
            Some(canvas.until(goal))
        })
    }

    /// Shows what a terminal printed. `is_at_prompt` where its shell waits for a command behind it.
    pub fn show(self: &Arc<Self>, bytes: &[u8], is_at_prompt: bool) {
        let mut waiting = self.waiting.lock();
        if !waiting.is_busy
            && let Some(mut screen) = self.screen.try_lock()
            && screen.draw_at_once(bytes)
        {
            if is_at_prompt {
                screen.leave_alternate();
            }
            return;
        }
        waiting.show(bytes);
        if is_at_prompt {
            waiting.push(Part::Prompt);
        }
        self.begin(waiting);
    }

    /// How many columns and rows it has. Waits for nobody who draws.
    pub fn size(&self) -> TerminalSize {
        *self.size.lock()
    }

    /// Has another size, from here on.
    pub fn resize(self: &Arc<Self>, size: TerminalSize) {
        *self.size.lock() = size;
        self.give(Part::Size(size));
    }

    /// [Folds](Screen::fold) the screen: nothing more is shown.
    pub fn fold(self: &Arc<Self>) {
        self.give(Part::End);
    }

    fn give(self: &Arc<Self>, part: Part) {
        let mut waiting = self.waiting.lock();
        waiting.push(part);
        self.begin(waiting);
    }

    /// Has what waits be drawn.
    fn begin(self: &Arc<Self>, mut waiting: MutexGuard<'_, Waiting>) {
        if std::mem::replace(&mut waiting.is_busy, true) {
            return;
        }
        drop(waiting);
        let work = Work::of(self);
        if Handle::try_current().is_ok() {
            drop(blocking(move || work.draw()));
        } else {
            work.draw();
        }
    }

    /// The next part; without one nobody draws any more. `length` is that of the one before.
    fn next(&self, length: u64) -> Option<Part> {
        let mut waiting = self.waiting.lock();
        waiting.drawn += length;
        let mut part = waiting.parts.pop_front();
        if let Some(Part::Shown(bytes)) = &mut part
            && bytes.len() > PART_BYTES
        {
            let rest = bytes.split_off(PART_BYTES);
            waiting.parts.push_front(Part::Shown(rest));
        }
        waiting.is_busy = part.is_some();
        drop(waiting);
        self.drawn.notify_waiters();
        part
    }

    /// Draws a part, as long as `is_wanted`.
    fn draw(&self, part: &Part, is_wanted: impl Fn() -> bool) {
        match part {
            Part::Shown(bytes) => {
                let mut rest = bytes.as_slice();
                while !rest.is_empty() && is_wanted() {
                    let mut screen = self.screen.lock();
                    let (now, later) = rest.split_at(screen.affordable(rest));
                    screen.draw(now);
                    // Whoever looks gets their turn.
                    MutexGuard::unlock_fair(screen);
                    rest = later;
                }
            }
            Part::Prompt => self.screen.lock().leave_alternate(),
            Part::Size(size) => self.screen.lock().resize(*size),
            Part::End => self.screen.lock().fold(),
        }
    }
}

impl Waiting {
    /// How much is to be drawn before more is read: all, so that whoever reads draws what comes next themselves; `None` where there
    /// is room.
    fn behind(&self) -> Option<u64> {
        (self.given - self.drawn >= WAITING_BYTES as u64).then_some(self.given)
    }

    fn push(&mut self, part: Part) {
        self.given += part.length();
        self.parts.push_back(part);
    }

    /// What is shown before a terminal begins anew is seen by nobody, and is not drawn.
    fn show(&mut self, bytes: &[u8]) {
        let seen = memmem::rfind(bytes, RESET).filter(|reset| {
            let has_title = |bytes| memmem::find(bytes, COMMAND).is_some();
            !has_title(&bytes[..*reset])
                && !self.parts.iter().any(|part| matches!(part, Part::Shown(bytes) if has_title(bytes)))
        });
        if seen.is_some() {
            let before: u64 = self.parts.iter().map(Part::length).sum();
            self.parts.retain(|part| matches!(part, Part::Size(_)));
            self.drawn += before - self.parts.len() as u64;
        }
        let bytes = &bytes[seen.unwrap_or(0)..];
        match self.parts.back_mut() {
            Some(Part::Shown(last)) => {
                self.given += bytes.len() as u64;
                last.extend_from_slice(bytes);
            }
            Some(Part::Prompt | Part::Size(_) | Part::End) | None => self.push(Part::Shown(bytes.to_vec())),
        }
    }
}

/// The thread that draws what waits.
struct Work {
    canvas: Arc<Canvas>,
    is_over: bool,
}

impl Work {
    fn of(canvas: &Arc<Canvas>) -> Self {
        Self { canvas: Arc::clone(canvas), is_over: false }
    }

    fn draw(mut self) {
        let mut length = 0;
        while let Some(part) = self.canvas.next(length) {
            length = part.length();
            // Where nobody else holds it, nobody ever looks.
            self.canvas.draw(&part, || Arc::strong_count(&self.canvas) > 1);
        }
        self.is_over = true;
    }
}

impl Drop for Work {
    /// Nobody waits for what failed, or has no runtime any more.
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut waiting = self.canvas.waiting.lock();
        waiting.parts.clear();
        waiting.drawn = waiting.given;
        waiting.is_busy = false;
        drop(waiting);
        self.canvas.drawn.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use proptest::prelude::*;

    use super::*;

    /// Longer than any test.
    const LONG: Duration = Duration::from_secs(60);
    /// What is dear to draw: each clears every cell of the largest screen.
    const DEAR: &[u8] = b"\x1b[2J\x1b[Hx";
    const LARGEST: TerminalSize = TerminalSize { columns: 500, rows: 500 };

    /// Ends when nothing waits.
    fn whole(canvas: &Arc<Canvas>) -> Later {
        canvas.until(canvas.waiting.lock().given)
    }

    fn is_ready(later: &mut Later) -> bool {
        later.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// What is drawn at once held the thread that reads, and with it everything else that waits there.
    #[tokio::test]
    async fn what_is_dear_to_draw_is_drawn_by_another_thread_and_whoever_reads_waits_for_it() {
        let canvas = Canvas::new(LARGEST);
        let mut tap = canvas.tap({
            let canvas = Arc::clone(&canvas);
            move |bytes, _| {
                canvas.show(bytes, false);
                false
            }
        });
        tap.take(b"cheap", &|| true);
        assert_eq!(canvas.lock().look().lines, ["cheap"]);
        assert!(tap.later().is_none());
        let look = canvas.lock();
        // While somebody looks nothing is drawn, and whoever reads is not held up.
        tap.take(&DEAR.repeat(WAITING_BYTES / DEAR.len() - 1), &|| true);
        assert!(tap.later().is_none());
        tap.take(b"\x1b[2Jlast of all", &|| true);
        let mut later = tap.later().unwrap();
        assert!(!is_ready(&mut later));
        assert!(!is_ready(&mut canvas.caught_up()));
        drop(look);
        tokio::time::timeout(LONG, later).await.unwrap();
        // Who went on while something waited gave all that followed to the other thread, cheap as it was.
        assert!(tap.later().is_none() && !canvas.waiting.lock().is_busy);
        canvas.caught_up().await;
        assert_eq!(canvas.lock().look().lines, [" last of all"]);
    }

    /// Nobody looks here, and the other thread is at something else.
    #[test]
    fn whoever_reads_draws_what_is_cheap_and_nothing_else() {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            let (ends, is_over) = std::sync::mpsc::channel::<()>();
            // An error, as nothing is sent.
            let other = tokio::task::spawn_blocking(move || is_over.recv().is_err());
            let canvas = Canvas::new(LARGEST);
            canvas.show(b"cheap", false);
            canvas.show(&DEAR.repeat(1_000), false);
            assert_eq!(canvas.lock().look().lines, ["cheap"]);
            drop(ends);
            assert!(other.await.unwrap());
            whole(&canvas).await;
            assert_eq!(canvas.lock().look().lines, ["x"]);
        });
    }

    /// A flood of them on the largest screen would be drawn for minutes.
    #[tokio::test]
    async fn what_is_shown_before_a_terminal_begins_anew_is_not_drawn() {
        let canvas = Canvas::new(LARGEST);
        let look = canvas.lock();
        canvas.show(b"before", true);
        canvas.resize(TerminalSize { columns: 40, rows: 3 });
        for _ in 0..100 {
            canvas.show(&b"before\x1bc\n".repeat(1_000), false);
        }
        canvas.show(b"behind", false);
        {
            let waiting = canvas.waiting.lock();
            assert_eq!(waiting.behind(), None);
            assert!(waiting.parts.iter().map(Part::length).sum::<u64>() <= 10);
        }
        drop(look);
        tokio::time::timeout(LONG, whole(&canvas)).await.unwrap();
        let view = canvas.lock().look();
        assert_eq!((view.lines, view.columns), (vec![String::new(), "behind".to_owned()], 40));
    }

    #[tokio::test]
    async fn nobody_waits_for_a_thread_that_was_lost() {
        let canvas = Canvas::new(LARGEST);
        canvas.waiting.lock().is_busy = true;
        canvas.show(&[b'x'; WAITING_BYTES], true);
        let mut tap = canvas.tap(|_, _| false);
        let later = tap.later().unwrap();
        drop(Work::of(&canvas));
        tokio::time::timeout(LONG, later).await.unwrap();
        tokio::time::timeout(Duration::ZERO, canvas.caught_up()).await.unwrap();
        assert!(!tap.take(b"taken", &|| true));
        canvas.show(b"drawn again", false);
        assert_eq!(canvas.lock().look().lines, ["drawn again"]);
    }

    /// One step of what happens to a canvas.
    #[derive(Debug, Clone)]
    enum Step {
        Show(Vec<u8>, bool),
        Size(u16, u16),
    }

    fn step() -> impl Strategy<Value = Step> {
        let piece = prop::sample::select(vec![
            "\x1bc",
            "\x1b",
            "c",
            "\x1b[2J",
            "\x1b]2;title",
            "\x07",
            "\x1b[2;3r",
            "\x1b[?1049h",
            "text\r\n",
            "\x1b[3b",
            "é",
        ]);
        let shown = prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat().into_bytes());
        prop_oneof![
            5 => (shown, any::<bool>()).prop_map(|(bytes, is_at_prompt)| Step::Show(bytes, is_at_prompt)),
            1 => (1..20u16, 1..6u16).prop_map(|(columns, rows)| Step::Size(columns, rows)),
        ]
    }

    proptest! {
        /// What is drawn late, in whatever pieces, is what drawing everything at once makes.
        #[test]
        fn what_waits_makes_the_same_screen(steps in prop::collection::vec(step(), 0..12)) {
            let size = TerminalSize { columns: 10, rows: 4 };
            let (canvas, mut screen) = (Canvas::new(size), Screen::new(size));
            canvas.waiting.lock().is_busy = true;
            for step in steps {
                match step {
                    Step::Show(bytes, is_at_prompt) => {
                        canvas.show(&bytes, is_at_prompt);
                        screen.draw(&bytes);
                        if is_at_prompt {
                            screen.leave_alternate();
                        }
                    }
                    Step::Size(columns, rows) => {
                        canvas.resize(TerminalSize { columns, rows });
                        screen.resize(TerminalSize { columns, rows });
                    }
                }
            }
            Work::of(&canvas).draw();
            prop_assert_eq!(canvas.lock().look(), screen.look());
        }
    }
}
