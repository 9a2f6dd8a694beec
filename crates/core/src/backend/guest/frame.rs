//! Frames: `u32` bytes that follow, `u64` call, `u32` bytes of JSON, the JSON, raw bytes; numbers low byte first.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// 80 MiB: the largest file that is read or written as a whole (`Limits::file_bytes`, 64 MiB) with all that may stand
/// beside it. A peer that announces more is cut off before anything of it is held.
pub(super) const MAX_BYTES: usize = 80 << 20;
/// 64 KiB of JSON in a frame of a guest: a question, an error. What an answer says is content; see [`super::message`].
pub(super) const SPEECH_BYTES: usize = 64 << 10;
/// Call and length of the JSON.
const HEADER: usize = 8 + 4;
/// 1 MiB: what is given back to the system once it has been decoded.
const KEPT_BYTES: usize = 1 << 20;

/// One message with what belongs to it.
#[derive(Debug)]
pub(super) struct Frame<M> {
    /// The call that it belongs to; 0 is the connection itself.
    pub(super) call: u64,
    /// What is said.
    pub(super) message: M,
    /// Content: a file, a piece of output.
    pub(super) body: Vec<u8>,
}

/// The peer does not speak this protocol.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Nonsense;

/// The bytes of a frame; `None` for one that is too large to be sent.
pub(super) fn encode<M: Serialize>(call: u64, message: &M, body: &[u8]) -> Option<Vec<u8>> {
    let json = serde_json::to_vec(message).ok()?;
    let length = HEADER + json.len() + body.len();
    if length > MAX_BYTES {
        return None;
    }
    let mut bytes = Vec::with_capacity(4 + length);
    bytes.extend(u32::try_from(length).ok()?.to_le_bytes());
    bytes.extend(call.to_le_bytes());
    bytes.extend(u32::try_from(json.len()).ok()?.to_le_bytes());
    bytes.extend(json);
    bytes.extend(body);
    Some(bytes)
}

/// Takes bytes in any pieces and gives frames.
pub(super) struct Decoder {
    /// Bytes of JSON that one frame may have.
    most: usize,
    buffer: Vec<u8>,
    /// Bytes at the front that were given already.
    taken: usize,
    /// Bytes still to come that nobody wants.
    skipped: usize,
}

impl Decoder {
    /// Takes frames with at most so many bytes of JSON.
    pub(super) fn new(most: usize) -> Self {
        Self { most, buffer: Vec::new(), taken: 0, skipped: 0 }
    }

    /// Adds what came.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.buffer.drain(..self.taken);
            self.taken = 0;
            if self.buffer.is_empty() {
                self.buffer.shrink_to(KEPT_BYTES);
            }
        }
        let skipped = self.skipped.min(bytes.len());
        self.skipped -= skipped;
        self.buffer.extend(&bytes[skipped..]);
    }

    /// The next whole frame.
    pub(super) fn next<M: DeserializeOwned>(&mut self) -> Result<Option<Frame<M>>, Nonsense> {
        self.next_for(&|_| Some(MAX_BYTES))
    }

    /// The same where each call has `room` for so many bytes of content: more than that is nonsense as soon as it is announced. Of a call
    /// that has none at all the content is passed over, and held by nobody.
    pub(super) fn next_for<M: DeserializeOwned>(
        &mut self,
        room: &dyn Fn(u64) -> Option<usize>,
    ) -> Result<Option<Frame<M>>, Nonsense> {
        let rest = &self.buffer[self.taken..];
        let Some((length, rest)) = rest.split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if !(HEADER..=MAX_BYTES).contains(&length) {
            return Err(Nonsense);
        }
        // Looked at before the rest has come: who announces too much is not listened to for so long.
        let Some((call, rest)) = rest.split_first_chunk() else { return Ok(None) };
        let Some((json, rest)) = rest.split_first_chunk() else { return Ok(None) };
        let (call, json) = (u64::from_le_bytes(*call), u32::from_le_bytes(*json) as usize);
        let body = (length - HEADER).checked_sub(json).filter(|_| json <= self.most).ok_or(Nonsense)?;
        let room = room(call);
        if room.is_some_and(|room| body > room) {
            return Err(Nonsense);
        }
        let Some((json, rest)) = rest.split_at_checked(json) else { return Ok(None) };
        let (content, passed) = match room {
            Some(_) => match rest.get(..body) {
                Some(content) => (content.to_vec(), body),
                None => return Ok(None),
            },
            None => (Vec::new(), body.min(rest.len())),
        };
        let message = serde_json::from_slice(json).map_err(|_| Nonsense)?;
        self.taken += 4 + HEADER + json.len() + passed;
        self.skipped = body - passed;
        Ok(Some(Frame { call, message, body: content }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in(
            sent in prop::collection::vec((any::<u64>(), ".{0,20}", prop::collection::vec(any::<u8>(), 0..50)), 1..6),
            piece in 1usize..40,
        ) {
            let bytes: Vec<u8> = sent.iter().flat_map(|(call, text, body)| encode(*call, text, body).unwrap()).collect();
            let mut decoder = Decoder::new(MAX_BYTES);
            let mut got = Vec::new();
            for piece in bytes.chunks(piece) {
                decoder.push(piece);
                while let Some(Frame { call, message, body }) = decoder.next::<String>().unwrap() {
                    got.push((call, message, body));
                }
            }
            prop_assert_eq!(got, sent);
        }

        #[test]
        fn any_bytes_are_survived(bytes in any::<Vec<u8>>()) {
            let mut decoder = Decoder::new(MAX_BYTES);
            decoder.push(&bytes);
            while let Ok(Some(_)) = decoder.next::<String>() {}
        }
    }

    /// Nobody reads it any more: it is not held either, and the frame behind it comes.
    #[test]
    fn content_that_nobody_wants_is_passed_over() {
        let bytes: Vec<u8> = (1..4).flat_map(|call| encode(call, &"said", &[b'x'; 300]).unwrap()).collect();
        for piece in [1, 7, 100, 1000] {
            let mut decoder = Decoder::new(SPEECH_BYTES);
            let mut got = Vec::new();
            for piece in bytes.chunks(piece) {
                decoder.push(piece);
                let room = |call| (call != 2).then_some(300);
                while let Some(frame) = decoder.next_for::<String>(&room).unwrap() {
                    got.push((frame.call, frame.body.len()));
                }
            }
            assert_eq!(got, [(1, 300), (2, 0), (3, 300)], "{piece}");
        }
    }

    #[test]
    fn an_announced_length_is_not_believed() {
        for bytes in [
            &[0xFF, 0xFF, 0xFF, 0xFF][..],
            &[0, 0, 0, 0],
            // The JSON would be longer than its frame.
            &[12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0],
        ] {
            let mut decoder = Decoder::new(MAX_BYTES);
            decoder.push(bytes);
            assert_eq!(decoder.next::<String>().unwrap_err(), Nonsense);
        }
        assert!(encode(1, &"", &vec![0; MAX_BYTES]).is_none());
    }

    #[test]
    fn more_json_than_is_listened_to_is_refused_at_its_beginning() {
        let text = "x".repeat(SPEECH_BYTES - 2);
        let mut decoder = Decoder::new(SPEECH_BYTES);
        decoder.push(&encode(1, &text, b"").unwrap());
        assert_eq!(decoder.next::<String>().unwrap().unwrap().message, text);
        decoder.push(&encode(1, &(text + "x"), b"").unwrap()[..16]);
        assert_eq!(decoder.next::<String>().unwrap_err(), Nonsense);
    }
}
