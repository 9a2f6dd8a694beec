//! What a command costs: `sh -c true` by a bare `posix_spawn` of a small program (the floor), by a supervisor that is
//! started for it (cold), by one that stands ready (warm), and without a supervisor. All take turns, so that a busy
//! machine disturbs all alike. Medians in microseconds.
//!
//! ```sh
//! GLOVEPORT_SUPERVISOR=…/gloveport-supervisor cargo bench -p gloveport-core --bench execute
//! ```

fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(target_os = "linux")]
    linux::main()?;
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::OwnedFd;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use gloveport_core::backend::local::shell::{CommandRunner, Environment, SupervisorProgram};
    use gloveport_core::backend::{Call, ExecuteRequest};

    const ROUNDS: usize = 300;

    pub(super) fn main() -> Result<(), Box<dyn std::error::Error>> {
        let Some(path) = std::env::var_os("GLOVEPORT_SUPERVISOR") else {
            println!("execute: skipped, GLOVEPORT_SUPERVISOR does not name the supervisor program");
            return Ok(());
        };
        let bytes = std::fs::read(path)?;
        let program = SupervisorProgram::from_bytes(&bytes)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;

        let environment = Environment::of_host(&[])?;
        let runner = || CommandRunner::new(environment.clone(), 100_000);
        let warm = runner().with_supervisor(program.clone());
        runtime.block_on(run(&warm));
        let mut times = [const { Vec::new() }; 4];
        for _ in 0..ROUNDS {
            times[0].push(timed(floor));
            times[1].push(timed(|| {
                let cold = runner().with_supervisor(program.clone());
                runtime.block_on(run(&cold));
            }));
            times[2].push(timed(|| runtime.block_on(run(&warm))));
            times[3].push(timed(|| runtime.block_on(run(&runner()))));
        }
        let medians = times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64() * 1e6
        });
        for (name, median) in
            ["bare posix_spawn", "supervisor, cold", "supervisor, ready", "process group"].iter().zip(medians)
        {
            println!("{name:18} {median:7.0} us  {:.2} x", median / medians[0]);
        }
        Ok(())
    }

    fn timed(work: impl FnOnce()) -> Duration {
        let begin = Instant::now();
        work();
        begin.elapsed()
    }

    /// No output is taken and nothing is bounded: what nobody can beat.
    fn floor() {
        let status = Command::new("/bin/sh")
            .args(["-c", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.is_ok_and(|status| status.success()));
    }

    async fn run(runner: &CommandRunner) {
        let outcome = match std::fs::File::open("/") {
            Ok(directory) => runner.run(ExecuteRequest::new("true"), OwnedFd::from(directory), &Call::default()).await,
            Err(_) => return,
        };
        assert!(outcome.is_ok_and(|outcome| outcome.exit_code == Some(0)));
    }
}
