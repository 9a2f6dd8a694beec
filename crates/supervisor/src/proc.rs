//! What the kernel tells in `/proc`.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{Arguments, Write};
use core::mem::MaybeUninit;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, RawDir, open};

/// 4 KiB: what `/proc` gives at a time.
const READ_BYTES: usize = 4 << 10;

/// The whole of a file; `None` when it cannot be had, as when its process is gone.
pub(crate) fn read(path: Arguments<'_>) -> Option<Vec<u8>> {
    let file = opened(path, OFlags::empty())?;
    let mut bytes = Vec::new();
    let mut buffer = [0; READ_BYTES];
    loop {
        match rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut buffer)).ok()? {
            0 => return Some(bytes),
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

/// The names in a directory that are numbers; `None` when it cannot be opened. What cannot be read of it is left out.
pub(crate) fn numbers_in(path: Arguments<'_>) -> Option<Vec<i32>> {
    let directory = opened(path, OFlags::DIRECTORY)?;
    let mut buffer = [MaybeUninit::uninit(); READ_BYTES];
    let mut entries = RawDir::new(directory, &mut buffer);
    let mut numbers = Vec::new();
    while let Some(Ok(entry)) = entries.next() {
        numbers.extend(entry.file_name().to_str().ok().and_then(|name| name.parse::<i32>().ok()));
    }
    Some(numbers)
}

/// A file of `/proc`; `None` when it cannot be had.
pub(crate) fn opened(path: Arguments<'_>, flags: OFlags) -> Option<OwnedFd> {
    // `format!` is compiled for unwinding, which a program without the standard library cannot link.
    let mut text = String::new();
    text.write_fmt(path).ok()?;
    open(text.as_str(), flags | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}
