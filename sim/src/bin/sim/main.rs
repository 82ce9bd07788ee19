//! `sim run`, `sim swarm`, `sim shrink`, `sim crash`, `sim explore`: see `docs/simulation.md`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its caller")]
#![expect(clippy::disallowed_types, reason = "a campaign takes real time; the worlds in it don't")]

mod cluster;
mod crash;
mod explore;
mod life;
mod lists;
mod nodes;
mod one;
mod progress;
mod recorded;
mod report;
mod swarm;
mod words;

use std::process::ExitCode;

use sim::recorded::Ask;
use words::scenario;

const USAGE: &str = "usage: sim run SEED|FILE.json [--trace] [--scenario]
       sim swarm --seeds N | --for 30m [--from SEED] [--jobs N] [--laws]
       sim shrink SEED|FILE.json [--out FILE.json]
       sim crash [--jobs N]
       sim explore [--world NAME] [--states N] [--for SECONDS|10m] [--wider N] [--workers N]
       sim cluster [--world NAME] [--states N] [--for SECONDS|10m] [--wider N]
       sim nodes [--seed N] [--seeds N | --for 30m] [--from SEED]
       sim report [--seeds N] [--from SEED] [--jobs N] [--states N] [--out FILE.md] [--picture FILE.svg] [--coverage FILE.json]
       sim apart SEED|FILE.json
       sim replay FILE.jsonl [--laws]
       sim traces [--from SEED] [--seeds N]
       sim pairs [--from SEED] [--seeds N] [--jobs N]
       sim laws
       sim week [--weeks N]
       sim crowd [--agents N] [--children N] [--depth 1|2]";

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["run", what, rest @ ..] => scenario(what).map(|scenario| one::run(what, &scenario, rest)),
        ["shrink", what, rest @ ..] => scenario(what).and_then(|scenario| one::shrunk(what, &scenario, rest)),
        ["apart", what] => scenario(what).map(|scenario| one::apart(what, &scenario)),
        ["swarm", rest @ ..] => swarm::swarm(rest),
        ["crash", rest @ ..] => crash::everywhere(rest),
        ["explore", rest @ ..] => explore::explore(rest),
        ["cluster", rest @ ..] => cluster::explore(rest),
        ["nodes", rest @ ..] => nodes::nodes(rest),
        ["replay", file] => recorded::replay(file, Ask::All),
        ["replay", file, "--laws"] => recorded::replay(file, Ask::Laws),
        ["report", rest @ ..] => report::report(rest),
        ["traces", rest @ ..] => lists::traces(rest),
        ["pairs", rest @ ..] => lists::pairs(rest),
        ["laws"] => Ok(lists::laws()),
        ["crowd", rest @ ..] => life::crowd(rest),
        ["week"] => life::week(),
        ["week", "--weeks", rest @ ..] => life::weeks(rest),
        _ => Err(USAGE.into()),
    };
    ExitCode::from(done.unwrap_or_else(|problem| {
        eprintln!("{problem}");
        2
    }))
}
