//! The recorded answers about containers (`tests/vectors/docker_runtime.json`), each of them: what a runtime is made into, what an engine
//! is asked for, and which runtimes come along. What a container uses is in `usage.rs`. Where the answer of then is a defect ours stands
//! here, with the defect's number.

use serde_json::{Map, Value, json};

use super::builtin::builtin_runtimes;
use super::install::Keep;
use super::options::DockerOptions;
use super::runtime::{Runtime, dockerfile, image_tag, written};
use super::spec::{self, First};
use crate::error::ErrorKind;
use crate::path::VirtualPath;

fn recorded() -> Value {
    serde_json::from_str(include_str!("../../../tests/vectors/docker_runtime.json")).unwrap()
}

/// `snake_case` of the recording → ours.
fn camel(fields: &Value) -> Value {
    let name = |name: &String| {
        let mut words = name.split('_');
        let first = words.next().unwrap_or("").to_owned();
        words.fold(first, |text, word| text + &word[..1].to_uppercase() + &word[1..])
    };
    let fields = fields.as_object().unwrap();
    Value::Object(fields.iter().map(|(field, value)| (name(field), value.clone())).collect())
}

fn runtime(config: &Value) -> Runtime {
    serde_json::from_value(camel(config)).unwrap()
}

/// BE-134, every field of every one. What they are described by are words of ours; and uv comes as a package, not by a script that whoever
/// builds would have to trust unseen.
#[test]
fn the_runtimes_that_come_along_are_the_recorded_ones() {
    let mut theirs: Vec<Value> = recorded()["builtin_runtimes"].as_object().unwrap().values().map(camel).collect();
    for runtime in &mut theirs {
        runtime.as_object_mut().unwrap().remove("description");
        if runtime["name"] == "coding" {
            let script = runtime["setupCommands"].as_array_mut().unwrap().pop().unwrap();
            assert!(script.as_str().unwrap().starts_with("curl -fsSL https://astral.sh/uv/install.sh |"), "{script}");
            runtime["packages"] = json!(["uv"]);
        }
    }
    let ours: Vec<Value> = builtin_runtimes()
        .iter()
        .map(|runtime| {
            runtime.check().unwrap();
            let mut fields = json!(runtime);
            assert!(!fields.as_object_mut().unwrap().remove("description").unwrap().as_str().unwrap().is_empty());
            fields
        })
        .collect();
    assert_eq!(ours, theirs);
}

/// BE-130: what a description leaves out.
#[test]
fn a_description_has_the_recorded_defaults() {
    for sample in recorded()["dockerfile"].as_array().unwrap() {
        let whole: Value = serde_json::from_str(sample["digest_input_json"].as_str().unwrap()).unwrap();
        assert_eq!(json!(runtime(&sample["config"])), camel(&whole));
    }
}

/// BE-132, BE-133: the whole file of each, or why there is none. A builder that keeps downloads makes the same of all that install
/// nothing.
#[test]
fn each_recorded_configuration_is_made_into_this() {
    let apt = |options: &str, prepare: &str, before: &str| {
        format!(
            "FROM debian\nRUN{before} [\"/bin/sh\",\"-c\",\"{prepare}apt-get{options} update && apt-get{options} install -y \
             --no-install-recommends -- \\\"$@\\\" && rm -rf /var/lib/apt/lists/*\",\"sh\",\"git\",\"curl\"]\n\
             WORKDIR \"/workspace\"\n"
        )
    };
    let kept = "/var/cache/gloveport";
    let packages = "\"--\",\"pandas\",\"numpy==1.26\",\"requests[socks]>=2,<3\"]\nWORKDIR \"/workspace\"\n";
    let no_package = |package: &str| {
        format!("'{package}' is no package: a name begins with a letter, a digit or '@' and holds no blank.")
    };
    let same = |text: &str| (text.to_owned(), text.to_owned());
    let expected = [
        // D31a: two bounds of a version were refused, and one was a redirection.
        (
            "py",
            Ok((
                format!("FROM python:3.12-slim\nRUN [\"pip\",\"install\",\"--no-cache-dir\",{packages}"),
                format!(
                    "FROM python:3.12-slim\nRUN --mount=type=cache,id=gloveport-py-pip,target={kept}/pip,sharing=shared \
                     [\"pip\",\"install\",\"--cache-dir={kept}/pip\",{packages}"
                ),
            )),
        ),
        (
            "apt",
            Ok((
                apt("", "", ""),
                apt(
                    &format!(
                        " -o Dir::State::lists={kept}/apt/lists -o Dir::Cache::archives={kept}/apt/archives \
                         -o APT::Keep-Downloaded-Packages=true"
                    ),
                    &format!("mkdir -p {kept}/apt/lists {kept}/apt/archives && "),
                    &format!(" --mount=type=cache,id=gloveport-apt-apt,target={kept}/apt,sharing=locked"),
                ),
            )),
        ),
        (
            "setup",
            Ok(same(
                "FROM alpine\nRUN [\"/bin/sh\",\"-c\",\"apk add git\"]\nRUN [\"/bin/sh\",\"-c\",\"echo hi && ls\"]\n\
                 ENV A=\"1\"\nENV B=\"it's \\$HOME\"\nENV C=\"\"\nWORKDIR \"/workspace\"\n",
            )),
        ),
        ("uid0", Err("`runAsUid` must be the number of a user that is not root, not 0.".to_owned())),
        ("empty", Ok(same("FROM scratch\nWORKDIR \"/workspace\"\n"))),
        ("badpkg2", Err(no_package(""))),
        ("badpkg4", Err(no_package("--index-url=http://x"))),
        ("badenv", Err("'1A' is no name of an environment variable.".to_owned())),
        ("badenv3", Err("The value of the environment variable 'A' holds a line break.".to_owned())),
        ("badwd", Err("`workDir` holds the character ';', which is no part of a plain path.".to_owned())),
        ("spwd", Ok(same("FROM p\nWORKDIR \"/a b\"\n"))),
    ];
    let recorded = recorded();
    let samples = recorded["dockerfile"].as_array().unwrap();
    let keep = Keep::on(&json!({}));
    let mut tags = std::collections::BTreeSet::new();
    assert_eq!(samples.len(), expected.len());
    for (sample, (name, expected)) in samples.iter().zip(expected) {
        let runtime = runtime(&sample["config"]);
        assert_eq!(runtime.name, name);
        let made = dockerfile(&runtime).and_then(|plain| Ok((plain, written(&runtime, keep.as_ref())?)));
        for theirs in [&sample["dockerfile"], &sample["dockerfile_buildkit"]] {
            assert_eq!(theirs.get("raises").is_some(), made.is_err() || name == "py", "{name}");
        }
        let tag = image_tag(&runtime);
        assert_eq!(tag.is_ok(), made.is_ok(), "{name}");
        if let Ok(tag) = tag {
            // By SHA-256 of the file, where theirs was by MD5 of the description.
            assert!(tag.starts_with(&format!("gloveport-runtime:{name}-")) && tags.insert(tag.clone()), "{tag}");
        }
        let made = made.map_err(|error| {
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            error.message().to_owned()
        });
        assert_eq!(made, expected, "{name}");
    }
}

/// BE-133: which characters a name may have, of all that there are in ASCII.
#[test]
fn names_are_what_the_recorded_patterns_take() {
    let recorded = recorded();
    let pattern = |name: &str| regex_automata::meta::Regex::new(recorded[name].as_str().unwrap()).unwrap();
    let (package, variable) = (pattern("package_name_regex"), pattern("env_key_regex"));
    let with = |field: &str, value: Value| {
        let mut config = json!({ "name": "n", "baseImage": "b" });
        config[field] = value;
        dockerfile(&serde_json::from_value(config).unwrap())
    };
    for character in (0..128).map(|code| char::from(u8::try_from(code).unwrap())) {
        for text in [format!("{character}"), format!("{character}a"), format!("a{character}")] {
            let taken = with("packages", json!([text])).is_ok();
            // `,` and `:`, of versions and addresses, are taken as well (D31a); no shell reads any of it.
            assert!(taken || !package.is_match(&text), "{text:?}");
            assert!(!taken || (!text.starts_with('-') && text.chars().all(|c| c.is_ascii_graphic())), "{text:?}");
            assert_eq!(with("envVars", json!({ &text: "x" })).is_ok(), variable.is_match(&text), "{text:?}");
        }
    }
    let refused = recorded["shell_metacharacters"].as_array().unwrap();
    for character in refused.iter().filter_map(Value::as_str) {
        assert!(with("workDir", json!(format!("/a{character}b"))).is_err(), "{character:?}");
    }
    assert_eq!(refused.len(), 11);
}

/// What the engine is asked for, by a container that is made to go (`remove`) or to stay.
fn asked_for(options: &DockerOptions, work_dir: &str, remove: bool) -> Value {
    let work_dir = VirtualPath::absolute(work_dir).unwrap();
    let labels = Map::new();
    spec::container(options, "image", &work_dir, None, labels, remove, First::Guest).unwrap()
}

/// BE-120: what each option changes of a container, and nothing besides. The container without options is in `spec.rs`.
#[test]
fn each_recorded_option_changes_this_of_a_container() {
    let recorded = recorded();
    let samples = recorded["run_kwargs"].as_array().unwrap();
    let (usual, folder) = (DockerOptions::default(), tempfile::tempdir().unwrap());
    let plain = asked_for(&usual, "/workspace", true);
    let mount = crate::sandbox::Mount::new(folder.path(), "/c").read_write();
    let sandbox = crate::sandbox::Sandbox::new(vec![mount], folder.path()).unwrap();
    let source = folder.path().canonicalize().unwrap();
    let binds = json!([{ "Type": "bind", "Source": source, "Target": "/c", "ReadOnly": false }]);
    let analysis = builtin_runtimes().into_iter().find(|runtime| runtime.name == "python-datascience");
    let memory = json!({ "Memory": 512 << 20, "MemorySwap": 512 << 20 });
    let share = json!({ "CpuQuota": 150_000, "CpuShares": 512, "PidsLimit": 64 });
    // What was asked for, that as ours, and what is otherwise than usual: of the container, and of its walls.
    let expected = [
        (json!({}), usual.clone(), json!({}), json!({})),
        (json!({ "mem_limit": "512m" }), DockerOptions { memory: 512 << 20, ..usual.clone() }, json!({}), memory),
        (
            json!({ "cpus": 1.5, "cpu_shares": 512, "pids_limit": 64 }),
            DockerOptions { cpus: 1.5, cpu_shares: Some(512), pids: 64, ..usual.clone() },
            json!({}),
            share,
        ),
        (
            json!({ "volumes": { "/host": "/c" } }),
            DockerOptions { sandbox: Some(sandbox), ..usual.clone() },
            json!({}),
            json!({ "Mounts": binds }),
        ),
        // D30: `noexec` that is said stays, where it became `noexec,exec`.
        (
            json!({ "tmpfs": { "/tmp": "rw,noexec" } }),
            DockerOptions { tmpfs: [("/tmp".to_owned(), "rw,noexec".to_owned())].into(), ..usual.clone() },
            json!({}),
            json!({ "Tmpfs": { "/tmp": "rw,noexec" } }),
        ),
        // One with a name stays.
        (json!({ "auto_remove": false }), usual.clone(), json!({}), json!({ "AutoRemove": false })),
        (json!({ "work_dir": "/code" }), usual.clone(), json!({ "WorkingDir": "/code" }), json!({})),
        // Its image is the caller's to find.
        (
            json!({ "runtime": "python-datascience" }),
            DockerOptions { runtime: analysis, ..usual.clone() },
            json!({}),
            json!({}),
        ),
        // A label says it, which this is asked without.
        (json!({ "session_id": "sess-9" }), usual, json!({}), json!({})),
    ];
    assert_eq!(samples.len(), expected.len());
    for (sample, (asked, options, changed, walls)) in samples.iter().zip(expected) {
        let theirs = &sample["ok"]["run_kwargs"];
        assert_eq!(sample["options"], asked);
        let ours = asked_for(&options, theirs["working_dir"].as_str().unwrap(), theirs["auto_remove"] == true);
        let mut wanted = plain.clone();
        wanted.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        wanted["HostConfig"].as_object_mut().unwrap().extend(walls.as_object().unwrap().clone());
        assert_eq!(ours, wanted, "{asked}");
        // And what was recorded of each: its variables, no new privileges, and no more processes than these.
        let variables = ours["Env"].as_array().unwrap().iter().map(|variable| {
            let (name, value) = variable.as_str().unwrap().split_once('=').unwrap();
            (name.to_owned(), Value::from(value))
        });
        assert_eq!(Value::Object(variables.collect()), theirs["environment"], "{asked}");
        let host = &ours["HostConfig"];
        assert_eq!(theirs["security_opt"], json!(["no-new-privileges:true"]));
        assert_eq!(host["SecurityOpt"], json!(["no-new-privileges"]));
        assert!(host["PidsLimit"].as_u64().unwrap() <= theirs["pids_limit"].as_u64().unwrap(), "{asked}");
    }
}
