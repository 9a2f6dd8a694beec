//! What only a new container can be given, and whether one that exists has it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::options::DockerOptions;
use crate::error::{Error, Result};

/// What a container of ours was made with. The engine's own description may differ: it drops what its kernel cannot do.
pub(super) const LABEL: &str = "dev.gloveport.walls";

/// The options that hold from a container's making on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Walls {
    network: String,
    memory: u64,
    memory_swap: Option<u64>,
    cpus: f64,
    cpu_shares: Option<u64>,
    pids: u32,
    disk: Option<u64>,
    file_size: u64,
    capabilities: BTreeSet<String>,
    tmpfs: BTreeMap<String, String>,
    read_only_root: bool,
    oci_runtime: Option<String>,
}

impl Walls {
    pub(super) fn of(options: &DockerOptions) -> Self {
        Self {
            network: options.network.clone(),
            memory: options.memory,
            memory_swap: options.memory_swap,
            cpus: options.cpus,
            cpu_shares: options.cpu_shares.map(Into::into),
            pids: options.pids,
            disk: options.disk,
            file_size: options.file_size,
            capabilities: options.capabilities.iter().map(|name| name.to_ascii_uppercase()).collect(),
            tmpfs: options.tmpfs.iter().map(|(path, spelled)| (path.clone(), spelled.clone())).collect(),
            read_only_root: options.read_only_root,
            oci_runtime: options.oci_runtime.clone(),
        }
    }

    /// As a container is labelled.
    pub(super) fn label(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Refuses a container that does not have what these options say, rather than to drop it in silence. `theirs` is what one of ours was
    /// made with: weaker than this it is not taken. Of a container of others nothing is known but that its maker chose it: only what
    /// was said here is refused.
    pub(super) fn check(&self, theirs: Option<&str>) -> Result<()> {
        let theirs: Option<Self> = theirs.and_then(|label| serde_json::from_str(label).ok());
        let missing = self.missing(theirs.as_ref());
        if missing.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = missing.iter().map(|name| format!("`{name}`")).collect();
        Err(Error::invalid(match theirs {
            Some(_) => format!(
                "The container exists and was made with another {}, which an existing one cannot be given. Say what it was made with, or \
                 take another name.",
                names.join(", ")
            ),
            None => format!(
                "The container exists, and gloveport did not make it: {} cannot be given to it. Leave that out, or take another name.",
                names.join(", ")
            ),
        }))
    }

    fn missing(&self, theirs: Option<&Self>) -> Vec<&'static str> {
        let usual = Self::of(&DockerOptions::default());
        let other =
            |said: bool, same: fn(&Self, &Self) -> bool| said && theirs.is_none_or(|theirs| !same(self, theirs));
        let weaker = |weaker: fn(&Self, &Self) -> bool| theirs.is_some_and(|theirs| weaker(self, theirs));
        let swap = |walls: &Self| walls.memory_swap.unwrap_or(walls.memory);
        [
            (
                "network",
                other(self.network != usual.network, |ours, theirs| ours.network == theirs.network)
                    || weaker(|ours, theirs| theirs.network != "none" && ours.network != theirs.network),
            ),
            (
                "memory",
                other(self.memory != usual.memory, |ours, theirs| ours.memory == theirs.memory)
                    || weaker(|ours, theirs| theirs.memory > ours.memory),
            ),
            (
                "memorySwap",
                other(self.memory_swap.is_some(), |ours, theirs| ours.memory_swap == theirs.memory_swap)
                    || theirs.is_some_and(|theirs| swap(theirs) > swap(self) && theirs.memory <= self.memory),
            ),
            (
                "cpus",
                other(self.cpus.total_cmp(&usual.cpus).is_ne(), |ours, theirs| {
                    ours.cpus.total_cmp(&theirs.cpus).is_eq()
                }) || weaker(|ours, theirs| theirs.cpus > ours.cpus),
            ),
            ("cpuShares", other(self.cpu_shares.is_some(), |ours, theirs| ours.cpu_shares == theirs.cpu_shares)),
            (
                "pids",
                other(self.pids != usual.pids, |ours, theirs| ours.pids == theirs.pids)
                    || weaker(|ours, theirs| theirs.pids > ours.pids),
            ),
            ("disk", other(self.disk.is_some(), |ours, theirs| ours.disk == theirs.disk)),
            (
                "fileSize",
                other(self.file_size != usual.file_size, |ours, theirs| ours.file_size == theirs.file_size)
                    || weaker(|ours, theirs| theirs.file_size > ours.file_size),
            ),
            (
                "capabilities",
                other(!self.capabilities.is_empty(), |ours, theirs| ours.capabilities == theirs.capabilities)
                    || weaker(|ours, theirs| !theirs.capabilities.is_subset(&ours.capabilities)),
            ),
            ("tmpfs", other(!self.tmpfs.is_empty(), |ours, theirs| ours.tmpfs == theirs.tmpfs)),
            ("readOnlyRoot", other(self.read_only_root, |ours, theirs| ours.read_only_root == theirs.read_only_root)),
            ("ociRuntime", other(self.oci_runtime.is_some(), |ours, theirs| ours.oci_runtime == theirs.oci_runtime)),
        ]
        .into_iter()
        .filter_map(|(name, is_missing)| is_missing.then_some(name))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walls(change: impl FnOnce(&mut DockerOptions)) -> Walls {
        let mut options = DockerOptions::default();
        change(&mut options);
        Walls::of(&options)
    }

    #[test]
    fn a_container_that_is_weaker_than_asked_for_is_not_taken_and_nothing_that_was_said_is_dropped() {
        type Change = fn(&mut DockerOptions);
        let changes: [(&str, bool, Change); 15] = [
            ("network", true, |options| options.network = "bridge".to_owned()),
            ("memory", true, |options| options.memory *= 2),
            ("memory", false, |options| options.memory /= 2),
            ("memorySwap", true, |options| options.memory_swap = Some(options.memory * 2)),
            ("cpus", true, |options| options.cpus = 64.0),
            ("cpus", false, |options| options.cpus = 0.5),
            ("cpuShares", false, |options| options.cpu_shares = Some(2)),
            ("pids", true, |options| options.pids = 4096),
            ("disk", false, |options| options.disk = Some(1 << 30)),
            ("fileSize", true, |options| options.file_size *= 2),
            ("fileSize", false, |options| options.file_size /= 2),
            ("capabilities", true, |options| options.capabilities = vec!["sys_admin".to_owned()]),
            ("tmpfs", false, |options| drop(options.tmpfs.insert("/x".to_owned(), String::new()))),
            ("readOnlyRoot", false, |options| options.read_only_root = true),
            ("ociRuntime", false, |options| options.oci_runtime = Some("runsc".to_owned())),
        ];
        let usual = walls(|_| {});
        for (name, weaker, change) in changes {
            let changed = walls(change);
            // Made like this, and asked for by the defaults.
            assert_eq!(usual.missing(Some(&changed)), if weaker { vec![name] } else { Vec::new() }, "{name}");
            // Made by the defaults, and asked for like this; the same of somebody else's.
            assert_eq!(changed.missing(Some(&usual)), [name]);
            assert_eq!(changed.missing(None), [name]);
            assert!(changed.missing(Some(&changed)).is_empty());
            assert!(changed.check(Some(&changed.label())).is_ok());
        }
        assert!(usual.missing(None).is_empty());
    }
}
