//! From options to the container that the engine is asked for: hardened unless the author said otherwise (R-DK-1, R-DK-2).

use std::collections::HashMap;
use std::path::Path;

use bollard::models::{ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountType, ResourcesUlimits};

use super::guest::{GUEST_DIRECTORY, GUEST_PROGRAM};
use super::options::DockerOptions;
use crate::error::{Error, Result, Shown};
use crate::path::VirtualPath;
use crate::sandbox::Sandbox;

/// What every process inside gets unless the image or the author says otherwise: nothing asks a question, nothing draws,
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

/// The container for `options`, made from `image`, with what says whose it is.
pub(super) fn container(
    options: &DockerOptions,
    image: &str,
    work_dir: &VirtualPath,
    user: Option<String>,
    labels: HashMap<String, String>,
    remove: bool,
) -> Result<ContainerCreateBody> {
    let mut volumes = None;
    let mut tmpfs: HashMap<String, String> = HashMap::new();
    for (path, spelled) in &options.tmpfs {
        tmpfs.insert(absolute("tmpfs", path)?, with_exec(spelled));
    }
    if options.read_only_root {
        tmpfs.entry("/tmp".to_owned()).or_insert_with(|| TMP.to_owned());
        // The engine puts nothing into a root that cannot be written, but into a volume it does.
        volumes = Some(vec![GUEST_DIRECTORY.to_owned()]);
    }
    let host = HostConfig {
        privileged: Some(false),
        cap_drop: Some(vec!["ALL".to_owned()]),
        cap_add: Some(options.capabilities.clone()).filter(|list| !list.is_empty()),
        security_opt: Some(vec!["no-new-privileges".to_owned()]),
        pids_limit: Some(i64::from(positive("pids", options.pids)?)),
        memory: Some(bytes("memory", options.memory)?),
        memory_swap: Some(bytes("memorySwap", options.memory_swap.unwrap_or(options.memory))?),
        nano_cpus: None,
        cpu_period: Some(CPU_PERIOD),
        cpu_quota: Some(cpu_quota(options.cpus)?),
        cpu_shares: options.cpu_shares.map(i64::from),
        network_mode: Some(network(&options.network)?),
        ipc_mode: Some("private".to_owned()),
        log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
        ulimits: Some(vec![ulimit("nofile", OPEN_FILES), ulimit("core", 0)]),
        readonly_rootfs: Some(options.read_only_root),
        tmpfs: Some(tmpfs).filter(|map| !map.is_empty()),
        mounts: options.sandbox.as_ref().map(mounts).transpose()?,
        auto_remove: Some(remove),
        runtime: options.oci_runtime.clone(),
        // Our own first process takes in orphans, and nothing inside can kill it; an init of the engine would stand
        // before it and end with its child.
        init: Some(false),
        ..HostConfig::default()
    };
    Ok(ContainerCreateBody {
        image: Some(image.to_owned()),
        entrypoint: Some(vec![GUEST_PROGRAM.to_owned()]),
        cmd: Some(vec!["hold".to_owned()]),
        env: Some(environment(options)?),
        working_dir: Some(work_dir.as_str().to_owned()),
        user,
        labels: Some(labels),
        open_stdin: Some(true),
        stdin_once: Some(true),
        attach_stdin: Some(true),
        attach_stdout: Some(false),
        attach_stderr: Some(false),
        tty: Some(false),
        stop_timeout: Some(STOP_SECONDS),
        volumes,
        host_config: Some(host),
        ..ContainerCreateBody::default()
    })
}

/// 100 ms: the period in which the share of processor time is counted.
const CPU_PERIOD: i64 = 100_000;

/// Microseconds of each period. Unlike a number of processors the engine takes more than the machine has.
#[allow(clippy::cast_possible_truncation, reason = "the range was checked")]
fn cpu_quota(cpus: f64) -> Result<i64> {
    if !(0.01..=1024.0).contains(&cpus) {
        return Err(Error::invalid("`cpus` is a number of processors from 0.01 to 1024."));
    }
    Ok((cpus * 100_000.0) as i64)
}

fn bytes(name: &str, value: u64) -> Result<i64> {
    i64::try_from(value).ok().filter(|bytes| *bytes > 0).ok_or_else(|| {
        Error::invalid(format!("`{name}` is a positive number of bytes; a container without a bound is not made."))
    })
}

fn positive(name: &str, value: u32) -> Result<u32> {
    if value == 0 { Err(Error::invalid(format!("`{name}` is a positive number."))) } else { Ok(value) }
}

fn ulimit(name: &str, value: i64) -> ResourcesUlimits {
    ResourcesUlimits { name: Some(name.to_owned()), soft: Some(value), hard: Some(value) }
}

/// Refuses what would share the network of the host or of another container.
fn network(name: &str) -> Result<String> {
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if !is_name || name == "host" {
        return Err(Error::invalid(
            "`network` is 'none', 'bridge' or the name of a network of the engine; the host's own network and other \
             containers' are not shared.",
        ));
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
fn mounts(sandbox: &Sandbox) -> Result<Vec<Mount>> {
    let table = sandbox.table();
    let mut mounts = Vec::new();
    for (entry, host) in table.mounts().iter().zip(sandbox.hosts()) {
        let point = &entry.mount_point;
        refuse_host(host, point)?;
        let target = absolute("a mount", point.as_str())?;
        if !table.can_read(point) {
            return Err(Error::invalid(format!(
                "'{point}' is narrowed to a part of its mount (`derive`), and a command in a container would see all of it; \
                 mount that part by itself."
            )));
        }
        let source =
            host.to_str().ok_or_else(|| Error::invalid(format!("The host directory of '{point}' is not UTF-8.")))?;
        mounts.push(Mount {
            typ: Some(MountType::BIND),
            source: Some(source.to_owned()),
            target: Some(target),
            read_only: Some(!table.can_write(point)),
            ..Mount::default()
        });
    }
    // A mount inside another one is mounted after it.
    mounts.sort_by(|a, b| a.target.cmp(&b.target));
    Ok(mounts)
}

/// Whether a container that exists was given exactly these mounts.
pub(super) fn are_mounts_of(theirs: &[Mount], sandbox: &Sandbox) -> Result<bool> {
    let facts = |mount: &Mount| (mount.target.clone(), mount.source.clone(), mount.read_only.unwrap_or(false));
    let mut theirs: Vec<_> = theirs.iter().map(facts).collect();
    theirs.sort();
    let mut ours: Vec<_> = mounts(sandbox)?.iter().map(facts).collect();
    ours.sort();
    Ok(theirs == ours)
}

/// Refuses host directories that hand out the machine (R-DK-2). The path is canonical.
fn refuse_host(host: &Path, point: &VirtualPath) -> Result<()> {
    let within = ["/proc", "/sys", "/dev"].iter().any(|system| host.starts_with(system));
    let exactly =
        ["/", "/run", "/var", "/var/run", "/etc", "/home", "/root"].iter().any(|whole| host == Path::new(whole));
    let is_home = std::env::var_os("HOME").is_some_and(|home| host == Path::new(&home));
    let holds_engine = ["docker.sock", "podman.sock"].iter().any(|name| is_socket(&host.join(name)));
    if within || exactly || is_home || holds_engine {
        return Err(Error::invalid(format!(
            "The host directory of '{point}' is not given to a container: it is, or holds, the machine's own (a system \
             directory, a home, the engine's socket). Mount a directory for the agent.",
        )));
    }
    Ok(())
}

#[cfg(unix)]
fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|facts| facts.file_type().is_socket())
}

#[cfg(not(unix))]
fn is_socket(_path: &Path) -> bool {
    false
}

/// `NAME=value` of everything inside.
fn environment(options: &DockerOptions) -> Result<Vec<String>> {
    let mut map: std::collections::BTreeMap<&str, &str> = ENVIRONMENT.into_iter().collect();
    let runtime = options.runtime.iter().flat_map(|runtime| &runtime.env_vars);
    for (name, value) in runtime.chain(&options.env) {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(Error::invalid(format!("'{}' cannot be set as an environment variable.", Shown(name))));
        }
        map.insert(name, value);
    }
    Ok(map.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Mount as SandboxMount;

    fn spec(options: &DockerOptions) -> Result<HostConfig> {
        let work_dir = VirtualPath::absolute("/workspace").unwrap();
        container(options, "image", &work_dir, None, HashMap::new(), true).map(|body| body.host_config.unwrap())
    }

    #[test]
    fn is_hardened_unless_told_otherwise() {
        let body = container(
            &DockerOptions::default(),
            "image",
            &VirtualPath::absolute("/workspace").unwrap(),
            None,
            HashMap::new(),
            true,
        )
        .unwrap();
        assert_eq!((body.open_stdin, body.stdin_once), (Some(true), Some(true)));
        let host = body.host_config.unwrap();
        assert_eq!(host.privileged, Some(false));
        assert_eq!(host.cap_drop.as_deref(), Some(&["ALL".to_owned()][..]));
        assert_eq!(host.cap_add, None);
        assert_eq!(host.security_opt.as_deref(), Some(&["no-new-privileges".to_owned()][..]));
        assert_eq!(host.network_mode.as_deref(), Some("none"));
        assert_eq!(host.ipc_mode.as_deref(), Some("private"));
        assert_eq!((host.pids_limit, host.memory, host.memory_swap), (Some(256), Some(2 << 30), Some(2 << 30)));
        assert_eq!((host.cpu_period, host.cpu_quota), (Some(100_000), Some(200_000)));
        assert_eq!((host.pid_mode, host.uts_mode, host.userns_mode), (None, None, None));
        assert_eq!((host.devices, host.binds, host.mounts, host.volumes_from), (None, None, None, None));
        assert_eq!(host.log_config.unwrap().typ.as_deref(), Some("none"));
        assert_eq!(host.auto_remove, Some(true));
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
            tmpfs: [("/cache".to_owned(), "size=1m".to_owned()), ("/quiet".to_owned(), "noexec".to_owned())].into(),
            ..DockerOptions::default()
        })
        .unwrap();
        assert_eq!((host.memory, host.memory_swap), (Some(512 << 20), Some(512 << 20)));
        assert_eq!((host.cpu_quota, host.cpu_shares, host.pids_limit), (Some(150_000), Some(512), Some(64)));
        assert_eq!(host.cap_add.as_deref(), Some(&["CHOWN".to_owned()][..]));
        assert_eq!(host.runtime.as_deref(), Some("runsc"));
        let tmpfs = host.tmpfs.unwrap();
        // `noexec` became `noexec,exec` (D30).
        assert_eq!((tmpfs["/cache"].as_str(), tmpfs["/quiet"].as_str()), ("size=1m,exec", "noexec"));
    }

    #[test]
    fn refuses_what_opens_the_wall() {
        for options in [
            DockerOptions { network: "host".to_owned(), ..DockerOptions::default() },
            DockerOptions { network: "container:other".to_owned(), ..DockerOptions::default() },
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
        let binds = mounts(&sandbox).unwrap();
        let seen: Vec<_> =
            binds.iter().map(|bind| (bind.target.as_deref().unwrap(), bind.read_only.unwrap())).collect();
        assert_eq!(seen, [("/work", false), ("/work/inner", true)]);
        assert!(are_mounts_of(&binds, &sandbox).unwrap());
        assert!(!are_mounts_of(&binds[..1], &sandbox).unwrap());
        let mut writable = binds;
        writable[1].read_only = Some(false);
        assert!(!are_mounts_of(&writable, &sandbox).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn the_machine_is_not_mounted() {
        let folder = tempfile::tempdir().unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("docker.sock")).unwrap();
        for (host, point) in [("/", "/x"), ("/proc", "/x"), ("/etc", "/x"), (folder.path().to_str().unwrap(), "/x")] {
            let sandbox = Sandbox::new(vec![SandboxMount::new(host, point)], Path::new("/")).unwrap();
            assert!(mounts(&sandbox).is_err(), "{host}");
        }
        let free = tempfile::tempdir().unwrap();
        for point in ["/", "/proc", "/dev/x", "/.gloveport"] {
            let sandbox = Sandbox::new(vec![SandboxMount::new(free.path(), point)], Path::new("/")).unwrap();
            assert!(mounts(&sandbox).is_err(), "{point}");
        }
    }
}
