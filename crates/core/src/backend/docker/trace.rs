//! What BuildKit says of its work: steps, and what their programs print, in messages of a format of its own.
//!
//! The engine hands them on as they are, within the JSON of a build. Of their fields (protocol buffers, `StatusResponse` of
//! BuildKit's `control.proto`) four are of use here. Nothing is believed: a length that leads out of its message ends it.

use std::collections::HashSet;

/// 4,096 steps that were told: one is told once, however often BuildKit comes back to it.
const STEPS: usize = 4_096;

/// One build's messages.
#[derive(Default)]
pub(super) struct Trace {
    told: HashSet<Vec<u8>>,
}

impl Trace {
    /// What a message says to people: a line for each step that begins, and what programs print, of which a character may be cut
    /// between two messages.
    pub(super) fn said(&mut self, message: &[u8]) -> Vec<u8> {
        let mut said = Vec::new();
        for (number, bytes) in Fields(message).filter_map(Field::bytes) {
            match number {
                1 => self.step(bytes, &mut said),
                3 => said.extend(of(bytes, 4).unwrap_or_default()),
                _ => {}
            }
        }
        said
    }

    fn step(&mut self, step: &[u8], said: &mut Vec<u8>) {
        let (Some(digest), Some(name), Some(_begun)) = (of(step, 1), of(step, 3), of(step, 5)) else { return };
        if self.told.len() < STEPS && self.told.insert(digest.to_vec()) {
            said.extend(name);
            said.push(b'\n');
        }
    }
}

/// The first field of this number that holds bytes.
fn of(message: &[u8], wanted: u64) -> Option<&[u8]> {
    Fields(message).filter_map(Field::bytes).find(|(number, _)| *number == wanted).map(|(_, bytes)| bytes)
}

/// The fields of a message, up to the first that is none.
struct Fields<'a>(&'a [u8]);

struct Field<'a> {
    number: u64,
    /// Only of fields with a length; a number is skipped.
    bytes: Option<&'a [u8]>,
}

impl<'a> Field<'a> {
    fn bytes(self) -> Option<(u64, &'a [u8])> {
        self.bytes.map(|bytes| (self.number, bytes))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        let tag = self.number()?;
        let bytes = match tag & 7 {
            0 => {
                self.number()?;
                None
            }
            1 => {
                self.take(8)?;
                None
            }
            2 => {
                let length = usize::try_from(self.number()?).ok()?;
                Some(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                None
            }
            _ => return None,
        };
        Some(Field { number: tag >> 3, bytes })
    }
}

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Seven bits a byte, the lowest first; the highest bit says that another follows.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    /// A field with a length.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        assert!(bytes.len() < 0x4000);
        let length = [bytes.len().to_le_bytes()[0] | 0x80, u8::try_from(bytes.len() >> 7).unwrap()];
        [&[number << 3 | 2], &length[..], bytes].concat()
    }

    fn step(digest: &str, name: &str, begun: bool) -> Vec<u8> {
        let time = if begun { field(5, &[8, 1]) } else { Vec::new() };
        // A number among them (`cached`) is skipped.
        field(1, &[field(1, digest.as_bytes()), field(3, name.as_bytes()), vec![4 << 3, 1], time].concat())
    }

    fn log(text: &[u8]) -> Vec<u8> {
        field(3, &[field(1, b"sha256:a"), field(2, &[]), vec![3 << 3, 2], field(4, text)].concat())
    }

    #[test]
    fn a_step_is_told_when_it_begins_and_once() {
        let mut trace = Trace::default();
        assert_eq!(trace.said(&step("a", "RUN x", false)), b"");
        let message = [step("a", "RUN x", true), field(2, b"a status"), log(b"green\n")].concat();
        assert_eq!(trace.said(&message), b"RUN x\ngreen\n");
        assert_eq!(trace.said(&[step("a", "RUN x", true), step("b", "RUN y", true)].concat()), b"RUN y\n");
    }

    /// A message of a real one (Docker 20.10).
    #[test]
    fn a_recorded_message_is_understood() {
        let recorded = "Cn0KR3NoYTI1Njo4YmVlNzJkMTFkZjg0M2JhNTY4NDM4ZTA0NDNhOGFmMjEwODUxMGYwZDZhZWY2ZmQ5ODdmMDI2YTc1ZWNkYTI0\
                        GiRbaW50ZXJuYWxdIGxvYWQgcmVtb3RlIGJ1aWxkIGNvbnRleHQqDAjp1ovYBhC6h8PjAQ==";
        let message = STANDARD.decode(recorded).unwrap();
        assert_eq!(Trace::default().said(&message), b"[internal] load remote build context\n");
    }

    #[test]
    fn a_length_that_leads_out_ends_the_message() {
        let mut trace = Trace::default();
        let whole = log(b"whole");
        for rest in [&b"\x1a\x7f"[..], b"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\x1b", b"\x0d\x01", b"\x80"] {
            assert_eq!(trace.said(&[&whole, rest].concat()), b"whole");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in any::<Vec<u8>>()) {
            prop_assert!(Trace::default().said(&bytes).len() <= bytes.len());
        }
    }
}
