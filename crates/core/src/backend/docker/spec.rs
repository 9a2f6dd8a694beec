//! From options to the container that the engine is asked for: hardened unless the author said otherwise (R-DK-1, R-DK-2).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::engine;
use super::guest::{GUEST_DIRECTORY, GUEST_PROGRAM};
use super::handed_out;
use super::options::DockerOptions;
use crate::error::{Error, Result, Shown};
use crate::order;
use crate::path::VirtualPath;
use crate::sandbox::Sandbox;

/// What every process inside gets unless the author says otherwise, over what the image sets: nothing asks a question, nothing draws,
/// nothing pages (BE-120).
pub(super) const ENVIRONMENT: [(&str, &str); 25] = [
    ("GIT_CONFIG_COUNT", "5"),
    ("GIT_CONFIG_KEY_0", "safe.directory"),
    ("GIT_CONFIG_VALUE_0", "*"),
    ("GIT_CONFIG_KEY_1", "user.name"),
    ("GIT_CONFIG_VALUE_1", "Agent"),
    ("GIT_CONFIG_KEY_2", "user.email"),
    ("GIT_CONFIG_VALUE_2", "agent@sandbox.local"),
    ("GIT_CONFIG_KEY_3", "init.defaultBranch"),
    ("GIT_CONFIG_VALUE_3", "main"),
    ("GIT_CONFIG_KEY_4", "advice.detachedHead"),
    ("GIT_CONFIG_VALUE_4", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PYTHONUNBUFFERED", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PIP_NO_INPUT", "1"),
    ("PIP_ROOT_USER_ACTION", "ignore"),
    ("UV_SYSTEM_PYTHON", "1"),
    ("UV_CONCURRENT_DOWNLOADS", "2"),
    ("UV_CONCURRENT_INSTALLS", "2"),
    ("UV_COMPILE_BYTECODE", "1"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("LANG", "C.UTF-8"),
];

/// 1 s between asking the container to end and ending it.
const STOP_SECONDS: i64 = 1;
/// 4,096 open files: builds open many; an engine that may not give more than it has itself can still give these.
const OPEN_FILES: i64 = 1 << 12;
/// 64 MiB of `/tmp` in memory where the root cannot be written.
const TMP: &str = "rw,nosuid,nodev,exec,size=67108864,mode=1777";
/// Places of the container that no mount may hide or stand in for.
const RESERVED: [&str; 4] = ["/proc", "/sys", "/dev", GUEST_DIRECTORY];

/// The first process of a container. Either ends when its input does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// Ours.
    Guest,
    /// The image's own shell, where no guest is there for the engine's processor.
    Shell,
}

/// The container for `options`, made from `image`, with what says whose it is.
pub(super) fn container(
    options: &DockerOptions,
    image: &str,
    work_dir: &VirtualPath,
    user: Option<String>,
    labels: Map<String, Value>,
    remove: bool,
    first: First,
) -> Result<Value> {
    let mut tmpfs = Map::new();
    for (path, spelled) in &options.tmpfs {
        tmpfs.insert(absolute("tmpfs", path)?, with_exec(spelled).into());
    }
    if options.read_only_root {
        tmpfs.entry("/tmp").or_insert_with(|| TMP.into());
    }
    let mut host = json!({
        "Privileged": false,
        "CapDrop": ["ALL"],
        "CapAdd": capabilities(&options.capabilities)?,
        "SecurityOpt": ["no-new-privileges"],
        "PidsLimit": positive("pids", options.pids)?,
        "Memory": bytes("memory", options.memory)?,
        "MemorySwap": bytes("memorySwap", options.memory_swap.unwrap_or(options.memory))?,
        "CpuPeriod": CPU_PERIOD,
        "CpuQuota": cpu_quota(options.cpus)?,
        "NetworkMode": network("network", &options.network)?,
        "IpcMode": "private",
        "LogConfig": { "Type": "none" },
        "Ulimits": [
            ulimit("nofile", OPEN_FILES),
            ulimit("core", 0),
            ulimit("fsize", bytes("fileSize", options.file_size)?),
        ],
        "ReadonlyRootfs": options.read_only_root,
        "Tmpfs": tmpfs,
        "AutoRemove": remove,
        // Our own first process takes in orphans, and nothing inside can kill it; an init of the engine would stand
        // before it and end with its child.
        "Init": first == First::Shell,
    });
    if let Some(disk) = options.disk {
        host["StorageOpt"] = json!({ "size": bytes("disk", disk)?.to_string() });
    }
    if let Some(name) = &options.build_network {
        network("buildNetwork", name)?;
    }
    if let Some(shares) = options.cpu_shares {
        host["CpuShares"] = shares.into();
    }
    if let Some(runtime) = &options.oci_runtime {
        host["Runtime"] = runtime.as_str().into();
    }
    if let Some(sandbox) = &options.sandbox {
        host["Mounts"] = mounts(sandbox, options.host.as_deref())?.into();
    }
    let mut body = json!({
        "Image": image,
        "Entrypoint": match first {
            First::Guest => [GUEST_PROGRAM],
            First::Shell => ["sh"],
        },
        "Cmd": match first {
            First::Guest => &["hold"][..],
            First::Shell => &["-c", "while read -r _; do :; done"],
        },
        "Env": environment(options)?,
        "WorkingDir": work_dir.as_str(),
        "Labels": labels,
        "OpenStdin": true,
        "StdinOnce": true,
        "AttachStdin": true,
        "AttachStdout": false,
        "AttachStderr": false,
        "Tty": false,
        "StopTimeout": STOP_SECONDS,
        "HostConfig": host,
    });
    if let Some(user) = user {
        body["User"] = user.into();
    }
    Ok(body)
}

/// 100 ms: the period in which the share of processor time is counted.
pub(super) const CPU_PERIOD: i64 = 100_000;

/// Microseconds of each period. Unlike a number of processors the engine takes more than the machine has.
#[allow(clippy::cast_possible_truncation, reason = "the range was checked")]
pub(super) fn cpu_quota(cpus: f64) -> Result<i64> {
    if !(0.01..=1024.0).contains(&cpus) {
        return Err(Error::invalid("`cpus` is a number of processors from 0.01 to 1024."));
    }
    Ok((cpus * 100_000.0) as i64)
}

/// Refuses all of them at once: that is most of a privileged container.
fn capabilities(names: &[String]) -> Result<&[String]> {
    if names.iter().any(|name| name.eq_ignore_ascii_case("ALL") || name.eq_ignore_ascii_case("CAP_ALL")) {
        return Err(Error::invalid("`capabilities` names those that are needed; all of them are not given."));
    }
    Ok(names)
}

pub(super) fn bytes(name: &str, value: u64) -> Result<i64> {
    i64::try_from(value).ok().filter(|bytes| *bytes > 0).ok_or_else(|| {
        Error::invalid(format!("`{name}` is a positive number of bytes; a container without a bound is not made."))
    })
}

fn positive(name: &str, value: u32) -> Result<u32> {
    if value == 0 { Err(Error::invalid(format!("`{name}` is a positive number."))) } else { Ok(value) }
}

fn ulimit(name: &str, value: i64) -> Value {
    json!({ "Name": name, "Soft": value, "Hard": value })
}

/// Refuses what would share the network of the host or of another container.
pub(super) fn network(option: &str, name: &str) -> Result<String> {
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if !is_name || name == "host" {
        return Err(Error::invalid(format!(
            "`{option}` is 'none', 'bridge' or the name of a network of the engine; the host's own network and other \
             containers' are not shared.",
        )));
    }
    Ok(name.to_owned())
}

/// `exec` unless something was said about it: programs that a build makes are run where they are made (D30: `noexec` is
/// said).
fn with_exec(options: &str) -> String {
    let said = options.split(',').any(|option| matches!(option.trim(), "exec" | "noexec"));
    match (said, options.is_empty()) {
        (true, _) => options.to_owned(),
        (false, true) => "exec".to_owned(),
        (false, false) => format!("{options},exec"),
    }
}

fn absolute(name: &str, path: &str) -> Result<String> {
    let path = VirtualPath::absolute(path)?;
    if path.is_root() || RESERVED.iter().any(|reserved| lies_in(&path, reserved)) {
        return Err(Error::invalid(format!("`{name}` cannot be at '{path}' of a container.")));
    }
    Ok(path.as_str().to_owned())
}

fn lies_in(path: &VirtualPath, reserved: &str) -> bool {
    VirtualPath::absolute(reserved).is_ok_and(|reserved| path.is_within(&reserved))
}

/// The mounts as the container sees them: the agent's paths.
fn mounts(sandbox: &Sandbox, host: Option<&str>) -> Result<Vec<Value>> {
    let table = sandbox.table();
    let engines = engine::addresses(host);
    let mut mounts = Vec::new();
    for (entry, host) in table.mounts().iter().zip(sandbox.hosts()) {
        let point = &entry.mount_point;
        handed_out::check(host, point, table.can_write(point), &engines)?;
        let target = absolute("a mount", point.as_str())?;
        if !table.can_read(point) {
            return Err(Error::invalid(format!(
                "'{point}' is narrowed to a part of its mount (`derive`), and a command in a container would see all of it; \
                 mount that part by itself."
            )));
        }
        let source =
            host.to_str().ok_or_else(|| Error::invalid(format!("The host directory of '{point}' is not UTF-8.")))?;
        let read_only = !table.can_write(point);
        mounts.push((
            target.clone(),
            json!({ "Type": "bind", "Source": source, "Target": target, "ReadOnly": read_only }),
        ));
    }
    // A mount inside another one is mounted after it.
    order::sort_by(&mut mounts, |(a, _), (b, _)| a.cmp(b));
    Ok(mounts.into_iter().map(|(_, mount)| mount).collect())
}

/// Whether a container that exists was given exactly these mounts.
pub(super) fn are_mounts_of(theirs: &[Value], sandbox: &Sandbox, host: Option<&str>) -> Result<bool> {
    let facts = |mount: &Value| {
        let text = |name: &str| mount.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let read_only = mount.get("ReadOnly").and_then(Value::as_bool).unwrap_or(false);
        (text("Type"), text("Target"), text("Source"), read_only)
    };
    let mut theirs: Vec<_> = theirs.iter().map(facts).collect();
    order::sort_by(&mut theirs, Ord::cmp);
    let mut ours: Vec<_> = mounts(sandbox, host)?.iter().map(facts).collect();
    order::sort_by(&mut ours, Ord::cmp);
    Ok(theirs == ours)
}

/// `NAME=value` of everything inside.
pub(super) fn environment(options: &DockerOptions) -> Result<Vec<String>> {
    Ok(variables(options)?.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
}

/// The variables of everything inside.
pub(super) fn variables(options: &DockerOptions) -> Result<BTreeMap<String, String>> {
    let mut map = BTreeMap::new();
    map.extend(ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let runtime = options.runtime.iter().flat_map(|runtime| &runtime.env_vars);
    for (name, value) in runtime.chain(&options.env) {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(Error::invalid(format!("'{}' cannot be set as an environment variable.", Shown(name))));
        }
        map.insert(name.clone(), value.clone());
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::sandbox::Mount as SandboxMount;

    fn body(options: &DockerOptions) -> Result<Value> {
        let work_dir = VirtualPath::absolute("/workspace").unwrap();
        container(options, "image", &work_dir, None, Map::new(), true, First::Guest)
    }

    fn spec(options: &DockerOptions) -> Result<Value> {
        body(options).map(|body| body["HostConfig"].clone())
    }

    #[test]
    fn is_hardened_unless_told_otherwise() {
        let mut body = body(&DockerOptions::default()).unwrap();
        let environment = body.as_object_mut().unwrap().remove("Env").unwrap();
        let environment = environment.as_array().unwrap().iter().map(|variable| {
            let (name, value) = variable.as_str().unwrap().split_once('=').unwrap();
            (name.to_owned(), Value::from(value))
        });
        let recorded: Value = serde_json::from_str(include_str!("../../../tests/vectors/docker_runtime.json")).unwrap();
        assert_eq!(Value::Object(environment.collect()), recorded["sandbox_env"]);
        // The whole of it: what is not here is not asked for.
        assert_eq!(
            body,
            json!({
                "Image": "image",
                "Entrypoint": ["/.gloveport/guest"],
                "Cmd": ["hold"],
                "WorkingDir": "/workspace",
                "Labels": {},
                "OpenStdin": true,
                "StdinOnce": true,
                "AttachStdin": true,
                "AttachStdout": false,
                "AttachStderr": false,
                "Tty": false,
                "StopTimeout": 1,
                "HostConfig": {
                    "Privileged": false,
                    "CapDrop": ["ALL"],
                    "CapAdd": [],
                    "SecurityOpt": ["no-new-privileges"],
                    "PidsLimit": 256,
                    "Memory": 2_147_483_648_u64,
                    "MemorySwap": 2_147_483_648_u64,
                    "CpuPeriod": 100_000,
                    "CpuQuota": 200_000,
                    "NetworkMode": "none",
                    "IpcMode": "private",
                    "LogConfig": { "Type": "none" },
                    "Ulimits": [
                        { "Name": "nofile", "Soft": 4096, "Hard": 4096 },
                        { "Name": "core", "Soft": 0, "Hard": 0 },
                        { "Name": "fsize", "Soft": 17_179_869_184_u64, "Hard": 17_179_869_184_u64 },
                    ],
                    "ReadonlyRootfs": false,
                    "Tmpfs": {},
                    "AutoRemove": true,
                    "Init": false,
                },
            })
        );
    }

    /// Where no program of ours can be, the engine's own first process buries orphans, and the rest is as ever.
    #[test]
    fn without_a_guest_the_first_process_is_a_shell_under_the_engines_init() {
        let (options, work_dir) = (DockerOptions::default(), VirtualPath::absolute("/workspace").unwrap());
        let asked = |first| container(&options, "image", &work_dir, None, Map::new(), true, first).unwrap();
        let mut by_shell = asked(First::Shell);
        assert_eq!(by_shell["HostConfig"]["Init"], true);
        assert_eq!(by_shell["Entrypoint"], json!(["sh"]));
        assert_eq!(by_shell["Cmd"], json!(["-c", "while read -r _; do :; done"]));
        let usual = asked(First::Guest);
        by_shell["HostConfig"]["Init"] = false.into();
        by_shell["Entrypoint"] = usual["Entrypoint"].clone();
        by_shell["Cmd"] = usual["Cmd"].clone();
        assert_eq!(by_shell, usual);
    }

    #[test]
    fn options_reach_the_engine() {
        let host = spec(&DockerOptions {
            memory: 512 << 20,
            cpus: 1.5,
            cpu_shares: Some(512),
            pids: 64,
            network: "bridge".to_owned(),
            capabilities: vec!["CHOWN".to_owned()],
            oci_runtime: Some("runsc".to_owned()),
            disk: Some(10 << 30),
            file_size: 1 << 30,
            tmpfs: [("/cache".to_owned(), "size=1m".to_owned()), ("/quiet".to_owned(), "noexec".to_owned())].into(),
            ..DockerOptions::default()
        })
        .unwrap();
        for (name, value) in [
            ("Memory", json!(512 << 20)),
            ("MemorySwap", json!(512 << 20)),
            ("CpuQuota", json!(150_000)),
            ("CpuShares", json!(512)),
            ("PidsLimit", json!(64)),
            ("NetworkMode", json!("bridge")),
            ("CapAdd", json!(["CHOWN"])),
            ("Runtime", json!("runsc")),
            ("StorageOpt", json!({ "size": "10737418240" })),
            // `noexec` became `noexec,exec` (D30).
            ("Tmpfs", json!({ "/cache": "size=1m,exec", "/quiet": "noexec" })),
        ] {
            assert_eq!(host[name], value, "{name}");
        }
    }

    #[test]
    fn refuses_what_opens_the_wall() {
        for options in [
            DockerOptions { network: "host".to_owned(), ..DockerOptions::default() },
            DockerOptions { network: "container:other".to_owned(), ..DockerOptions::default() },
            DockerOptions { build_network: Some("host".to_owned()), ..DockerOptions::default() },
            DockerOptions { disk: Some(0), ..DockerOptions::default() },
            DockerOptions { file_size: 0, ..DockerOptions::default() },
            DockerOptions { capabilities: vec!["cap_all".to_owned()], ..DockerOptions::default() },
            DockerOptions { memory: 0, ..DockerOptions::default() },
            DockerOptions { pids: 0, ..DockerOptions::default() },
            DockerOptions { cpus: f64::NAN, ..DockerOptions::default() },
            DockerOptions { tmpfs: [("/proc/x".to_owned(), String::new())].into(), ..DockerOptions::default() },
            DockerOptions { env: [("A=B".to_owned(), String::new())].into(), ..DockerOptions::default() },
        ] {
            assert_eq!(spec(&options).unwrap_err().kind(), crate::error::ErrorKind::InvalidInput, "{options:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn mounts_become_binds_under_the_agents_paths() {
        let folder = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::new(
            vec![SandboxMount::new("inner", "/work/inner"), SandboxMount::new("outer", "/work").read_write()],
            folder.path(),
        )
        .unwrap();
        let binds = mounts(&sandbox, None).unwrap();
        let seen: Vec<_> =
            binds.iter().map(|bind| (bind["Target"].as_str().unwrap(), bind["ReadOnly"].as_bool().unwrap())).collect();
        assert_eq!(seen, [("/work", false), ("/work/inner", true)]);
        assert!(are_mounts_of(&binds, &sandbox, None).unwrap());
        assert!(!are_mounts_of(&binds[..1], &sandbox, None).unwrap());
        let mut writable = binds;
        writable[1]["ReadOnly"] = false.into();
        assert!(!are_mounts_of(&writable, &sandbox, None).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn the_machine_is_not_mounted() {
        let folder = tempfile::tempdir().unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("docker.sock")).unwrap();
        for (host, point) in [("/", "/x"), ("/proc", "/x"), ("/etc", "/x"), (folder.path().to_str().unwrap(), "/x")] {
            let sandbox = Sandbox::new(vec![SandboxMount::new(host, point)], Path::new("/")).unwrap();
            assert!(mounts(&sandbox, None).is_err(), "{host}");
        }
        let free = tempfile::tempdir().unwrap();
        for point in ["/", "/proc", "/dev/x", "/.gloveport"] {
            let sandbox = Sandbox::new(vec![SandboxMount::new(free.path(), point)], Path::new("/")).unwrap();
            assert!(mounts(&sandbox, None).is_err(), "{point}");
        }
    }
}
