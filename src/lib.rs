//! The Node.js addon: the only Rust that names napi. It converts values and holds no behaviour.
