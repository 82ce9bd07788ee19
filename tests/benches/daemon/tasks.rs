//! Many background tasks that print at once: the runtime's memory, and its CPU and that of the supervisors beside that
//! of the commands.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use end_to_end::http;
use end_to_end::load::served::Served;
use end_to_end::load::usage;
use end_to_end::provider::{Provider, calls, says};
use end_to_end::task::begins;
use serde_json::json;

use crate::Options;
use crate::clock::{mb, ms};
use crate::table::line;

/// Agents, and what each of them begins.
const AGENTS: usize = 4;
const TASKS: usize = 25;
/// Bytes that each of them prints.
const BYTES: usize = 1_000_000;
/// A runtime that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) fn row(_: &Options) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let [go, waited, times] = ["go", "waited", "times"].map(|name| folder.path().join(name));
    let task = |number: usize| {
        let wait = format!("while ! test -e {}; do sleep 0.2; done", go.display());
        // What a shell and its children have used, before it prints and in the end.
        let [before, after] = [&waited, &times].map(|file| format!("times >> {}", file.display()));
        let print = format!("yes 'task {number} prints lines of a usual length' | head -c {BYTES}");
        begins(&format!("{wait}; {before}; {print}; {after}"), &json!({ "shell": "bash" }))
    };
    let begun = (0..AGENTS).flat_map(|agent| {
        let tasks: Vec<_> = (0..TASKS).map(|at| task(agent * TASKS + at)).collect();
        [calls(&tasks), says("They run.")]
    });
    let told = (0..AGENTS * TASKS).map(|_| says("Some have ended."));
    let provider = Provider::start(begun.chain(told));
    let mut served = Served::at(&provider.url, &[]);
    served.start();
    let socket = served.holon.home().join("run/holon.sock");
    for agent in 0..AGENTS {
        post(&socket, &format!("/control/agents/{}/create", name(agent)), &json!({}))?;
        post(&socket, &format!("/control/agents/{}/prompt", name(agent)), &json!({ "text": "go" }))?;
        provider.wait_for_requests(2 * (agent + 1));
    }
    let supervisors = usage::children(served.pid());
    let starts: Duration = supervisors.iter().map(|supervisor| usage::of(*supervisor).cpu).sum();
    let (before, began) = (served.usage(), Instant::now());
    std::fs::write(&go, "")?;
    while !over(&socket)? {
        if began.elapsed() > LONGEST {
            return Err(io::Error::other("the tasks do not end"));
        }
        std::thread::sleep(PAUSE);
    }
    let (took, after) = (began.elapsed(), served.usage());
    let all = AGENTS * TASKS;
    let printed = printed(&served.holon.home())?;
    let children = after.children.saturating_sub(before.children);
    let [waited, commands] = [spent(&waited)?, spent(&times)?];
    let own = after.cpu.saturating_sub(before.cpu);
    line(&format!("{all} tasks print {:.0} MB together: all of it after", mb(printed)), ms(took), "ms", None);
    line("  most memory of the runtime", mb(after.peak), "MB", Some(80.0));
    let printing = ms(commands.saturating_sub(waited));
    line("  CPU of the commands while they print", printing, "ms", None);
    let supervising = ms(children.saturating_sub(commands).saturating_sub(starts));
    line("  CPU of the supervisors meanwhile, to their ends", supervising, "ms", Some(printing));
    line("  CPU of their starts", ms(starts), "ms", None);
    line("  CPU of the runtime, with the turns that their results begin", ms(own), "ms", None);
    served.stop();
    if supervisors.len() != all {
        return Err(io::Error::other(format!("{} of {all} tasks had begun", supervisors.len())));
    }
    if printed != (all * BYTES) as u64 {
        return Err(io::Error::other(format!("the logs have {printed} bytes")));
    }
    Ok(())
}

fn name(agent: usize) -> String {
    format!("agent-{agent}")
}

fn post(socket: &Path, path: &str, body: &serde_json::Value) -> io::Result<()> {
    let answer = http::ask(socket, "POST", path, &[], Some(body))?;
    if answer.status >= 300 {
        return Err(io::Error::other(format!("{path}: {answer:?}")));
    }
    Ok(())
}

fn over(socket: &Path) -> io::Result<bool> {
    for agent in 0..AGENTS {
        let status = http::get(socket, &format!("/agents/{}/status", name(agent)))?;
        let why = http::get(socket, &format!("/agents/{}/why", name(agent)))?;
        if status.body["active_task_count"] != 0 || why.body["quiet"] != true {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Bytes of all logs.
fn printed(home: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for agent in 0..AGENTS {
        for log in std::fs::read_dir(home.join(format!("agents/{}/task-output", name(agent))))? {
            bytes += log?.metadata()?.len();
        }
    }
    Ok(bytes)
}

/// The sum of what shells say of themselves and their children: `0m0.001s 0m0.002s`, two lines each.
fn spent(file: &Path) -> io::Result<Duration> {
    let times = std::fs::read_to_string(file)?;
    let one = |word: &str| {
        let (minutes, seconds) = word.strip_suffix('s')?.split_once('m')?;
        let seconds = minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?;
        Some(Duration::from_secs_f64(seconds))
    };
    let wrong = |word: &str| io::Error::other(format!("{word} is no time"));
    times.split_whitespace().map(|word| one(word).ok_or_else(|| wrong(word))).sum()
}
