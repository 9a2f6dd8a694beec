//! Text in bounded memory: the head and the tail are kept, what came between is counted and dropped.

use std::collections::VecDeque;

/// Keeps at most `limit` bytes: the first half of it from the beginning, the rest from the end.
pub(super) struct HeadTailBuffer {
    head: String,
    head_limit: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    /// Bytes that were dropped between the two.
    dropped: u64,
}

impl HeadTailBuffer {
    pub(super) fn new(limit: usize) -> Self {
        let head_limit = limit / 2;
        Self { head: String::new(), head_limit, tail: VecDeque::new(), tail_limit: limit - head_limit, dropped: 0 }
    }

    pub(super) fn push(&mut self, text: &str) {
        let mut rest = text;
        if self.tail.is_empty() && self.dropped == 0 {
            let cut = rest.floor_char_boundary(self.head_limit - self.head.len());
            self.head.push_str(&rest[..cut]);
            rest = &rest[cut..];
        }
        let start = rest.ceil_char_boundary(rest.len().saturating_sub(self.tail_limit));
        self.tail.extend(&rest.as_bytes()[start..]);
        let mut surplus = self.tail.len().saturating_sub(self.tail_limit);
        while self.tail.get(surplus).is_some_and(|byte| (byte & 0xC0) == 0x80) {
            surplus += 1;
        }
        self.tail.drain(..surplus);
        self.dropped += (start + surplus) as u64;
    }

    pub(super) fn is_truncated(&self) -> bool {
        self.dropped > 0
    }

    pub(super) fn into_text(self) -> String {
        let tail = Vec::from(self.tail);
        let tail = String::from_utf8_lossy(&tail);
        match self.dropped {
            0 => self.head + &tail,
            dropped => format!("{}\n[... {dropped} bytes dropped here ...]\n{tail}", self.head),
        }
    }
}
