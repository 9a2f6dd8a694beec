//! A directory of this machine.
