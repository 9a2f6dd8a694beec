//! Puts new text in place of old, and keeps account of what changed.

use std::borrow::Cow;
use std::ops::Range;

/// One contiguous change: `old` in the text before became `new` in the text after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Bytes of the text before.
    pub old: Range<usize>,
    /// Bytes of the text after.
    pub new: Range<usize>,
}

/// Text that goes in place of a range.
#[derive(Debug, Clone)]
pub(super) struct Splice<'a> {
    pub(super) range: Range<usize>,
    pub(super) text: Cow<'a, [u8]>,
}

/// The length of `text` with the splices applied; known before anything is allocated (R-ED-4).
pub(super) fn spliced_len(text: &[u8], splices: &[Splice<'_>]) -> u64 {
    let removed: u64 = splices.iter().map(|splice| splice.range.len() as u64).sum();
    let added = splices.iter().fold(0_u64, |sum, splice| sum.saturating_add(splice.text.len() as u64));
    (text.len() as u64).saturating_sub(removed).saturating_add(added)
}

/// Applies splices that are in order and do not overlap. `length` is their [`spliced_len`].
pub(super) fn apply(text: &[u8], splices: &[Splice<'_>], length: u64) -> (Vec<u8>, Vec<Change>) {
    let mut result = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    let mut changes: Vec<Change> = Vec::with_capacity(splices.len());
    let mut kept = 0;
    for splice in splices {
        result.extend_from_slice(&text[kept..splice.range.start]);
        let start = result.len();
        result.extend_from_slice(&splice.text);
        changes.push(Change { old: splice.range.clone(), new: start..result.len() });
        kept = splice.range.end;
    }
    result.extend_from_slice(&text[kept..]);
    (result, changes)
}

/// The changes that `first` and then `second` make together: `second.old` is measured in the text that `first` left.
pub(super) fn compose(first: &[Change], second: Vec<Change>) -> Vec<Change> {
    if first.is_empty() {
        return second;
    }
    let mut composed = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.iter().peekable(), second.into_iter().peekable());
    // How far text behind the changes seen so far was moved by each of the two.
    let (mut first_shift, mut second_shift) = (0_isize, 0_isize);
    loop {
        let start = match (first.peek(), second.peek()) {
            (None, None) => return composed,
            (Some(one), None) => one.new.start,
            (None, Some(two)) => two.old.start,
            (Some(one), Some(two)) => one.new.start.min(two.old.start),
        };
        let (old_start, new_start) = (moved(start, -first_shift), moved(start, second_shift));
        // What touches becomes one change.
        let mut end = start;
        loop {
            if let Some(one) = first.next_if(|one| one.new.start <= end) {
                end = end.max(one.new.end);
                first_shift += difference(&one.old, &one.new);
            } else if let Some(two) = second.next_if(|two| two.old.start <= end) {
                end = end.max(two.old.end);
                second_shift += difference(&two.old, &two.new);
            } else {
                break;
            }
        }
        composed.push(Change { old: old_start..moved(end, -first_shift), new: new_start..moved(end, second_shift) });
    }
}

fn difference(old: &Range<usize>, new: &Range<usize>) -> isize {
    new.len().cast_signed() - old.len().cast_signed()
}

fn moved(at: usize, by: isize) -> usize {
    at.saturating_add_signed(by)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rebuilds the text after from the text before, to show that a list of changes tells the whole story.
    fn replay(before: &[u8], after: &[u8], changes: &[Change]) -> Vec<u8> {
        let (mut text, mut kept) = (Vec::new(), 0);
        for change in changes {
            text.extend_from_slice(&before[kept..change.old.start]);
            assert_eq!(text.len(), change.new.start);
            text.extend_from_slice(&after[change.new.clone()]);
            kept = change.old.end;
        }
        text.extend_from_slice(&before[kept..]);
        text
    }

    fn splices(points: &[(usize, usize, String)], length: usize) -> Vec<Splice<'_>> {
        let mut at = 0;
        let mut splices = Vec::new();
        for (skip, take, text) in points {
            let start = at + skip;
            let end = start + take;
            if end > length {
                break;
            }
            splices.push(Splice { range: start..end, text: text.as_bytes().into() });
            at = end;
        }
        splices
    }

    proptest! {
        #[test]
        fn composed_changes_tell_the_whole_story(
            before in "[a-z]{0,30}",
            one in proptest::collection::vec((0_usize..5, 0_usize..4, "[A-Z]{0,3}"), 0..5),
            two in proptest::collection::vec((0_usize..5, 0_usize..4, "[0-9]{0,3}"), 0..5),
        ) {
            let before = before.as_bytes();
            let first = splices(&one, before.len());
            let (middle, first) = apply(before, &first, spliced_len(before, &first));
            prop_assert_eq!(replay(before, &middle, &first), middle.clone());
            let second = splices(&two, middle.len());
            let length = spliced_len(&middle, &second);
            let (after, second) = apply(&middle, &second, length);
            prop_assert_eq!(after.len() as u64, length);
            prop_assert_eq!(replay(before, &after, &compose(&first, second)), after);
        }
    }
}
