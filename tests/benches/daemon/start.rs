//! How long it takes until a runtime is ready: with an empty home, and with many agents that have a long past.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use end_to_end::Holon;
use end_to_end::load::follower::Follower;
use end_to_end::load::model::{Model, Says, prompt};
use end_to_end::load::served::Served;

use crate::clock::{mb, ms, per, percentile};
use crate::table::line;
use crate::{Options, wait_for};

const BUSY: usize = 10;
/// Requests of this turn are never answered.
const OPEN: u32 = 1_000_000;

pub(crate) fn row(options: &Options) -> io::Result<()> {
    version()?;
    empty();
    wait_for(many(options))
}

fn version() -> io::Result<()> {
    let holon = Holon::new();
    let mut times = Vec::new();
    for _ in 0..21 {
        let began = Instant::now();
        holon.command(&["--version"]).output()?;
        times.push(began.elapsed());
    }
    line("holon --version, median of 21", ms(percentile(&mut times, 50)), "ms", Some(5.0));
    Ok(())
}

fn empty() {
    let model = Model::start(|_| Says::Done);
    let (mut times, mut processor) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        let mut served = Served::new(&model, &[]);
        times.push(served.start());
        processor.push(served.usage().cpu);
        served.stop();
    }
    line("ready, empty home, median of 9", ms(percentile(&mut times, 50)), "ms", None);
    line("  its CPU time", ms(percentile(&mut processor, 50)), "ms", None);
}

async fn many(options: &Options) -> io::Result<()> {
    let (agents, records) = (options.size(200, 1_000), options.size(500, 1_000));
    let asked = Arc::new(AtomicUsize::new(0));
    let open = asked.clone();
    let model = Model::start(move |request| {
        if request.turn != OPEN {
            return Says::Done;
        }
        open.fetch_add(1, Ordering::Relaxed);
        Says::Nothing
    });
    let mut served = Served::new(&model, &[]);
    served.start();
    let all = fill(&served, agents, records).await?;
    let mut client = served.connect().await?;
    for agent in 0..BUSY {
        client.prompt(&name(agent), &prompt(0, OPEN)).await?;
    }
    until(&asked, BUSY).await?;
    served.kill();
    let about = format!("{agents} agents ({BUSY} with open work), {all} records");
    let (mut times, mut asking, mut processor) = (Vec::new(), Vec::new(), Vec::new());
    for start in 0..6 {
        asked.store(0, Ordering::Relaxed);
        let began = Instant::now();
        let took = served.start();
        let usage = served.usage();
        until(&asked, BUSY).await?;
        if start == 0 {
            line(&format!("ready after a kill, {about}"), ms(took), "ms", Some(100.0));
            line("  memory then", mb(usage.resident), "MB", None);
        } else {
            times.push(took);
            asking.push(began.elapsed());
            processor.push(usage.cpu);
        }
        served.stop();
    }
    line(&format!("ready, {about}, median of 5"), ms(percentile(&mut times, 50)), "ms", Some(100.0));
    line("  its CPU time", ms(percentile(&mut processor, 50)), "ms", None);
    line("  until all open work asks the model again", ms(percentile(&mut asking, 50)), "ms", None);
    line("  ledger, bytes per record", per(mb(served.ledger_bytes()) * 1e6, all), "B", None);
    Ok(())
}

/// So many agents with so many records each, all of which were really made: one agent works, the others are its
/// forks.
async fn fill(served: &Served, agents: usize, records: usize) -> io::Result<usize> {
    let mut client = served.connect().await?;
    client.create(&name(0)).await?;
    let after = served.last_event(&name(0)).await?;
    let mut follower = Follower::new(served.connect().await?, &name(0), after).await?;
    for turn in 0.. {
        if follower.seen() >= records as u64 {
            break;
        }
        client.prompt(&name(0), &prompt(0, turn)).await?;
        follower.until_asleep().await?;
    }
    let path = format!("/control/agents/{}/fork", name(0));
    for agent in 1..agents {
        client.post(&path, &serde_json::json!({ "agent_id": name(agent) })).await?.taken()?;
    }
    let each = usize::try_from(follower.seen()).map_err(io::Error::other)?;
    Ok(agents * each)
}

fn name(agent: usize) -> String {
    format!("agent-{agent}")
}

/// Waits until so many are counted.
async fn until(count: &AtomicUsize, all: usize) -> io::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(60);
    while count.load(Ordering::Relaxed) < all {
        if Instant::now() > deadline {
            return Err(io::Error::other(format!("{count:?} of {all} asked their model")));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}
