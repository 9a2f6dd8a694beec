//! What a terminal costs beside its floor, the bare system calls and a blocking read: from the start to the first prompt that the
//! shell of a session marks, an echo there and back, and 20 MB of output; each the mean of the middle half of all runs. A figure that
//! is worse than its bound is a failure. Beside them stands what a command in a session costs at the least: typed at such a shell by this
//! program, and its prompt awaited, beside a shell that is started for it.
//!
//! ```sh
//! GLOVEPORT_SUPERVISOR=…/gloveport-supervisor cargo bench -p gloveport-core --bench terminal
//! ```

fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(target_os = "linux")]
    linux::main()?;
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::error::Error;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;
    use std::process::{Child, Command, Stdio};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use gloveport_core::backend::local::shell::{CommandRunner, Environment, SupervisorProgram};
    use gloveport_core::backend::process::{Process, TerminalSize};
    use gloveport_core::backend::tap::Tap;
    use gloveport_core::backend::{CommandLimits, TerminalRequest};
    use gloveport_core::cancel::Deadline;
    use gloveport_core::session::canvas::Canvas;
    use gloveport_core::session::terminal::Terminal;
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    type Outcome<T> = Result<T, Box<dyn Error>>;

    const ROUNDS: usize = 60;
    /// In processes of their own: what else a process did before decides how the kernel shares out the processors, and one side
    /// was seen to take a fifth less time beside the other than by itself.
    const PRINT_ROUNDS: usize = 4;
    /// By each of them, 60 in all of each side.
    const PRINTS: usize = 15;
    /// 200 ms before each.
    const REST: Duration = Duration::from_millis(200);
    /// Has this program print, on that side, and tell the microseconds of each print.
    const ONLY_PRINT: [&str; 2] = ["--print-bare", "--print-ours"];
    const BYTES: usize = 20_000_000;
    const SIZE: TerminalSize = TerminalSize { columns: 120, rows: 40 };
    /// Behind every prompt of a session's shell: the beginning of the mark, without its word.
    const PROMPT: &[u8] = b"\x1b]133;B;";
    /// Far more than a shell takes to its first prompt.
    const START: Duration = Duration::from_secs(15);
    /// A command, pasted, and the key that ends lines in such a shell.
    const LINE: &[u8] = b"\x1b[200~true\x1b[201~\x1ea";
    /// 100 us between two commands, or two keys, in which whoever calls by JavaScript has the result and asks for the next: a processor
    /// that had nothing to do for so long is slower to begin. Keys that follow each other within a microsecond find it still awake on a
    /// machine that is fast enough, and are typed by nobody.
    const BETWEEN: Duration = Duration::from_micros(100);
    /// Says that it is there, then repeats each line.
    const ECHO: &str = "stty -echo; printf '> '; while read -r x; do echo \"$x\"; done";
    const PRINT: &str = "head -c 20000000 /dev/zero | tr '\\0' x";

    pub(super) fn main() -> Outcome<()> {
        let Some(path) = std::env::var_os("GLOVEPORT_SUPERVISOR") else {
            println!("terminal: skipped, GLOVEPORT_SUPERVISOR does not name the supervisor program");
            return Ok(());
        };
        let program = SupervisorProgram::from_bytes(&std::fs::read(path)?)?;
        let runner = CommandRunner::new(Environment::of_host(&[])?, 100_000).with_supervisor(program);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        if let Some(side) = ONLY_PRINT.iter().position(|side| std::env::args().any(|given| given == *side)) {
            for _ in 0..PRINTS {
                std::thread::sleep(REST);
                let time = if side == 0 { printed_bare()? } else { runtime.block_on(printed(&runner))? };
                println!("{}", time.as_micros());
            }
            return Ok(());
        }
        let mut start = [Vec::new(), Vec::new()];
        let mut echo = [Vec::new(), Vec::new()];
        let mut print = [Vec::new(), Vec::new()];
        let mut typed = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            // The same shell with the same settings, on both sides.
            let (_, shell, _) = Terminal::new(SIZE, None);
            let begin = Instant::now();
            let (mut child, mut master) = bare(&shell)?;
            read_until(&mut master, PROMPT)?;
            start[0].push(begin.elapsed());
            child.kill()?;
            child.wait()?;
            // It edits lines on a terminal that is its own alone.
            let (mut child, mut master) =
                on_terminal(Command::new("setsid").args(["--ctty", "/bin/sh", "-c", &shell]))?;
            read_until(&mut master, PROMPT)?;
            for _ in 0..20 {
                let begin = Instant::now();
                Command::new("/bin/sh").args(["-c", "true"]).stdin(Stdio::null()).status()?;
                typed[0].push(begin.elapsed());
                pause();
                let begin = Instant::now();
                master.write_all(LINE)?;
                read_until(&mut master, PROMPT)?;
                typed[1].push(begin.elapsed());
            }
            child.kill()?;
            child.wait()?;
            runtime.block_on(async {
                let (terminal, shell, tap) = Terminal::new(SIZE, None);
                let begin = Instant::now();
                let process = open(&runner, &shell, tap).await?;
                assert!(terminal.prompt(&process, START, &Deadline::default()).await?, "no prompt");
                start[1].push(begin.elapsed());
                process.end().await;
                Outcome::Ok(())
            })?;
            let (mut child, mut master) = bare(ECHO)?;
            read_until(&mut master, b"> ")?;
            for _ in 0..20 {
                pause();
                let begin = Instant::now();
                master.write_all(b"x\n")?;
                read_until(&mut master, b"x\r\n")?;
                echo[0].push(begin.elapsed());
            }
            child.kill()?;
            child.wait()?;
            runtime.block_on(async {
                let process = open(&runner, ECHO, drawing()).await?;
                let mut position = until(&process, 0, b"> ").await;
                for _ in 0..20 {
                    pause();
                    let begin = Instant::now();
                    process.write(b"x\n", &Deadline::default()).await?;
                    position = until(&process, position, b"x\r\n").await;
                    echo[1].push(begin.elapsed());
                }
                process.end().await;
                Outcome::Ok(())
            })?;
        }
        for round in 0..PRINT_ROUNDS {
            // Whoever was second is first the next time.
            for side in if round.is_multiple_of(2) { [0, 1] } else { [1, 0] } {
                let told =
                    Command::new(std::env::current_exe()?).arg(ONLY_PRINT[side]).stderr(Stdio::inherit()).output()?;
                for time in String::from_utf8(told.stdout)?.lines() {
                    print[side].push(Duration::from_micros(time.parse()?));
                }
            }
        }
        assert!(print.iter().all(|times| times.len() == PRINT_ROUNDS * PRINTS), "a side did not print");
        let mut misses = 0;
        for (name, [floor, ours], bound) in
            [("start to prompt", start, 1.3), ("echo there and back", echo, 3.0), ("20 MB of output", print, 1.1)]
        {
            let [floor, ours] = [floor, ours].map(middle);
            let ratio = ours / floor;
            let holds = if ratio <= bound { "ok  " } else { "MISS" };
            misses += usize::from(ratio > bound);
            println!("{holds} {name:20} floor {floor:9.0} us, ours {ours:9.0} us: {ratio:.2} x (at most {bound})");
        }
        let [spawned, typed] = typed.map(middle);
        println!(
            "     least: `true` typed at a session's shell {typed:.0} us, {:.2} x a spawned `sh -c true`",
            typed / spawned
        );
        if misses > 0 { Err(format!("{misses} figures are worse than what is promised").into()) } else { Ok(()) }
    }

    /// Busy all the while, as whoever calls is.
    fn pause() {
        let begin = Instant::now();
        while begin.elapsed() < BETWEEN {}
    }

    /// The mean of the middle half, in microseconds.
    fn middle(mut times: Vec<Duration>) -> f64 {
        times.sort_unstable();
        let middle = &times[times.len() / 4..times.len() * 3 / 4];
        middle.iter().sum::<Duration>().as_secs_f64() * 1e6 / middle.len() as f64
    }

    /// As small as it gets: a terminal, a shell on it without job control, blocking reads.
    fn bare(command: &str) -> Outcome<(Child, File)> {
        on_terminal(Command::new("/bin/sh").args(["-c", command]))
    }

    fn on_terminal(command: &mut Command) -> Outcome<(Child, File)> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let slave = File::options().read(true).write(true).open(name.to_str()?)?;
        let child = command.stdin(slave.try_clone()?).stdout(slave.try_clone()?).stderr(slave).spawn()?;
        // Ours of the slave's descriptors close: their end is that of the output.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok((child, File::from(master)))
    }

    fn read_until(master: &mut File, end: &[u8]) -> Outcome<()> {
        let mut seen = Vec::new();
        let mut buffer = [0; 4096];
        while !seen.windows(end.len()).any(|window| window == end) {
            let count = master.read(&mut buffer)?;
            seen.extend_from_slice(&buffer[..count]);
        }
        Ok(())
    }

    /// How long 20 MB take through a terminal that is read as it gives. Its programs have a session of their own and are on their
    /// terminal, as on every terminal: the kernel shares out its processors by sessions.
    fn printed_bare() -> Outcome<Duration> {
        let begin = Instant::now();
        let (mut child, mut master) = on_terminal(Command::new("setsid").args(["--ctty", "/bin/sh", "-c", PRINT]))?;
        let mut buffer = vec![0; 64 << 10];
        let mut count = 0;
        while count < BYTES {
            count += master.read(&mut buffer)?;
        }
        let time = begin.elapsed();
        child.wait()?;
        Ok(time)
    }

    /// The same here, drawn and kept.
    async fn printed(runner: &CommandRunner) -> Outcome<Duration> {
        let begin = Instant::now();
        let process = open(runner, PRINT, drawing()).await?;
        process.over().await;
        let time = begin.elapsed();
        assert_eq!(process.position(), BYTES as u64);
        Ok(time)
    }

    /// Draws what comes, as a session does.
    fn drawing() -> Tap {
        let screen = Canvas::new(SIZE);
        let drawn = Arc::clone(&screen);
        screen.tap(move |bytes, _| {
            drawn.show(bytes, false);
            false
        })
    }

    async fn open(runner: &CommandRunner, command: &str, tap: Tap) -> Outcome<Process> {
        let request = TerminalRequest {
            command: Some(command.to_owned()),
            working_directory: None,
            environment: Vec::new(),
            size: SIZE,
            limits: CommandLimits::default(),
            tap: Some(tap),
        };
        Ok(runner.open_terminal(request, OwnedFd::from(File::open("/")?)).await?)
    }

    async fn until(process: &Process, position: u64, end: &[u8]) -> u64 {
        let mut seen = Vec::new();
        let mut position = position;
        while !seen.ends_with(end) {
            process.changed(position).await;
            let piece = process.read(position, 4096);
            position = piece.next;
            seen.extend(piece.bytes);
        }
        position
    }
}
