use parking_lot::Mutex;

use super::super::kept::KEPT_BYTES;
use super::*;
use crate::cancel::CancelToken;

#[test]
fn what_is_forgotten_is_handed_on_to_the_byte_and_what_is_left_follows_it() {
    let (process, driver) = process(None, ProcessOptions::default());
    let handed = Arc::new(Mutex::new(Vec::new()));
    let byte = |position: usize| b'a' + u8::try_from(position % 23).unwrap();
    let all: Vec<u8> = (0..3 * KEPT_BYTES).map(byte).collect();
    driver.recorder.take_raw(&all[..KEPT_BYTES + 5], &|| true);
    let taken = Arc::clone(&handed);
    process.on_forgotten(Box::new(move |position, bytes| {
        let mut taken = taken.lock();
        assert_eq!(position, 5 + taken.len() as u64);
        taken.extend_from_slice(bytes);
    }));
    let mut next = KEPT_BYTES + 5;
    for size in [1, 70_000, 3, KEPT_BYTES + 100] {
        driver.recorder.take_raw(&all[next..next + size], &|| true);
        next += size;
    }
    let rest = process.read_rest(0);
    assert_eq!((rest.next, rest.dropped), (next as u64, (next - KEPT_BYTES) as u64));
    assert!([handed.lock().as_slice(), &rest.bytes].concat() == all[5..next]);
    // Whoever has the rest is told of nothing twice.
    driver.recorder.take_raw(&all[next..next + 1_000], &|| true);
    assert_eq!(handed.lock().len(), next - KEPT_BYTES - 5);
    assert_eq!(process.read_rest(next as u64).bytes, all[next..next + 1_000]);
}

/// Who gave it again gave it twice.
#[tokio::test]
async fn a_write_that_is_stopped_tells_how_much_went_before() {
    let all = vec![b'x'; (INPUTS + 1) * INPUT_BYTES];
    let (slow, _driver) = process(None, ProcessOptions::default());
    let cancel = CancelToken::default();
    let stop = Deadline { cancel: cancel.clone(), at: None };
    let (written, ()) = tokio::join!(biased; slow.write(&all, &stop), async { cancel.cancel() });
    let error = written.unwrap_err();
    let facts = |error: &Error| (error.kind(), error.message().to_owned(), error.details().cloned());
    assert_eq!(
        facts(&error),
        (
            ErrorKind::Aborted,
            "The call was aborted. The first 1048576 of 1114112 bytes were given to it before.".to_owned(),
            Some(json!({ "partial": { "givenBytes": 1_048_576 } }))
        )
    );
    // Nothing went before.
    assert_eq!(
        facts(&slow.write(b"y", &stop).await.unwrap_err()),
        (ErrorKind::Aborted, "The call was aborted.".to_owned(), None)
    );
}

/// What waited was said to be given, though nobody read it any more.
#[tokio::test]
async fn input_counts_as_given_where_its_pipe_took_it_and_the_rest_is_refused_with_how_much_that_was() {
    let endless = Deadline::default();
    for (input, taken, ends, told) in [
        (5, 5, true, None),
        (5, 5, false, None),
        (5, 0, true, Some("The process has ended; it takes no input any more.")),
        (
            5,
            3,
            true,
            Some("The process has ended; it takes no input any more. The first 3 of 5 bytes were given to it before."),
        ),
        (
            5,
            3,
            false,
            Some("The process reads no more input: it has closed it. The first 3 of 5 bytes were given to it before."),
        ),
        (
            2 << 20,
            7,
            true,
            Some(
                "The process has ended; it takes no input any more. The first 7 of 2097152 bytes were given to it before.",
            ),
        ),
    ] {
        let (process, driver) = process(None, ProcessOptions::default());
        let bytes = vec![b'x'; input];
        let (written, _driver) = tokio::join!(biased; process.write(&bytes, &endless), async {
            driver.intake.wrote(taken);
            if ends {
                drop(driver);
                return None;
            }
            driver.intake.refuse();
            Some(driver)
        });
        let error = written.err();
        assert_eq!(error.as_ref().map(Error::message), told, "{input} {taken} {ends}");
        let given = error.as_ref().map_or(0, given_bytes);
        assert_eq!(given, if told.is_some() { taken as u64 } else { 0 });
        // Nothing waits for a reader that will not come, and the end of input is no error where it is closed.
        assert_eq!(process.reads_on(&endless).await.is_err(), told.is_some());
        assert_eq!(process.write(b"x", &endless).await.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(process.close_input(&endless).await.is_ok(), !ends);
    }
}

#[tokio::test]
async fn the_end_comes_after_the_last_byte_and_a_lost_driver_is_an_end() {
    let (process, driver) = process(None, ProcessOptions::default());
    let waiting = tokio::spawn({
        let process = process.clone();
        async move { process.over().await }
    });
    let Driver { recorder, orders, input, .. } = driver;
    recorder.take_raw(b"last", &|| true);
    drop((orders, input));
    recorder.finish(|outcome| ExecuteOutcome { exit_code: Some(3), ..outcome }).await;
    assert_eq!(waiting.await.unwrap().exit_code, Some(3));
    assert_eq!(process.read(0, 9).bytes, b"last");
    assert_eq!(process.order(Order::End).await.unwrap_err().kind(), ErrorKind::Closed);

    let (process, driver) = super::process(None, ProcessOptions::default());
    drop(driver);
    assert!(process.over().await.aborted);
    assert_eq!(process.write(b"x", &Deadline::default()).await.unwrap_err().kind(), ErrorKind::Closed);
}
