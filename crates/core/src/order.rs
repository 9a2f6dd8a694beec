//! Sorting where it is not the work: a few values, or many that took far longer to come by.
//!
//! The standard library's sort is made anew for each kind of value, 7 KB each time, and there were twenty of them in the
//! addon. Here only numbers are sorted, by one copy of it. What is sorted by the hundred thousand while somebody waits for
//! nothing else (`search/order.rs`, `backend/local/list.rs`) uses the other one.

use std::cmp::Ordering;

/// Sorts `values` by `compare`; those that are equal stay in their order.
pub(crate) fn sort_by<T>(values: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut places = order(values.len(), &|one, other| compare(&values[one], &values[other]));
    // Where each goes instead of who comes where: then each swap brings one to its place for good.
    let mut targets = vec![0; places.len()];
    for (target, place) in places.drain(..).enumerate() {
        targets[place] = target;
    }
    for at in 0..targets.len() {
        while targets[at] != at {
            let target = targets[at];
            values.swap(at, target);
            targets.swap(at, target);
        }
    }
}

/// The same by a key.
pub(crate) fn sort_by_key<T, K: Ord>(values: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(values, |one, other| key(one).cmp(&key(other)));
}

/// Which value comes at each place.
fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorts_as_the_standard_library_does(values in prop::collection::vec((0u8..20, any::<u16>()), 0..200)) {
            let mut expected = values.clone();
            expected.sort_by_key(|value| std::cmp::Reverse(value.0));
            let mut sorted = values.clone();
            sort_by(&mut sorted, |one, other| other.0.cmp(&one.0));
            prop_assert_eq!(&sorted, &expected);

            expected.sort_by_key(|value| value.0 / 3);
            sort_by_key(&mut sorted, |value| value.0 / 3);
            prop_assert_eq!(sorted, expected);
        }
    }
}
