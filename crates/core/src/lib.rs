//! All behaviour of gloveport: files and a shell for an agent, inside walls that the application's author sets.
//!
//! ```text
//! toolset ─ hooks, approval, permissions, custom, tool/*         the pipeline: the only place that joins the rest
//! tool/*  ─ change, memory                                       one tool per file; never a concrete backend
//! session, scratch                                               what runs beside the calls, and what is too long to be told
//! script                                                         text of a shell, read: for those who judge it or hand it on
//! backend ─ local, …                                             where files are; virtual paths in, virtual paths out
//! search, edit, media, text                                      engines over any tree, text and picture; they open nothing
//! sandbox                                                        mounts: pure table, no file is opened here
//! access, path, call, file_info, limits, cancel, lent, error, …  the ground
//! ```
//!
//! A lower line never imports an upper one. This crate has never heard of JavaScript.

pub mod access;
pub mod approval;
pub mod audit;
pub mod backend;
mod blocking;
pub mod call;
pub mod call_info;
pub mod cancel;
pub mod change;
pub mod custom;
pub mod decode;
pub mod edit;
pub mod error;
pub mod exit_code;
pub mod file_info;
pub mod hooks;
pub mod lent;
pub mod limits;
pub mod media;
pub mod memory;
mod order;
pub mod path;
pub mod permissions;
pub mod sandbox;
pub mod scratch;
mod script;
pub mod search;
pub mod session;
pub mod text;
pub mod tool;
pub mod toolset;
pub mod wire;
