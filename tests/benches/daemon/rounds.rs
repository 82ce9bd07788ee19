//! One turn of many tool rounds, of which each executes a command that does nothing.

use std::io;
use std::time::{Duration, Instant};

use end_to_end::load::follower::Follower;
use end_to_end::load::model::{Model, Says, prompt};
use end_to_end::load::served::Served;
use tokio::sync::mpsc;

use crate::clock::{mb, ms, per, percentile};
use crate::table::line;
use crate::{Options, wait_for};

/// Rounds that are looked at together.
const WINDOW: usize = 20;

pub(crate) fn row(options: &Options) -> io::Result<()> {
    wait_for(rounds(options.size(60, 180)))
}

async fn rounds(all: usize) -> io::Result<()> {
    let (asked, mut asks) = mpsc::channel(all + 1);
    let model = Model::start(move |request| {
        // The last place in the channel is that of the last request.
        let says = if asked.capacity() > 1 { Says::Command } else { Says::Done };
        asked.try_send(request).expect("one turn");
        says
    });
    let mut served = Served::new(&model, &[]);
    std::fs::create_dir(served.holon.home())?;
    let config = "[limits]\nrepeats_remind = 0\nrepeats_end = 1000000\n";
    std::fs::write(served.holon.home().join("config.toml"), config)?;
    served.start();
    let mut client = served.connect().await?;
    let mut follower = Follower::new(served.connect().await?, "main", 0).await?;
    let (before, began) = (served.usage().cpu, Instant::now());
    client.prompt("main", &prompt(0, 0)).await?;
    follower.until_asleep().await?;
    let (took, spent) = (began.elapsed(), served.usage().cpu.saturating_sub(before));
    let mut requests = Vec::new();
    while let Ok(request) = asks.try_recv() {
        requests.push(request);
    }
    if requests.len() != all + 1 {
        return Err(io::Error::other(format!("{} requests for {all} rounds", requests.len())));
    }
    let mut between: Vec<Duration> = requests.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    let last = &mut between.split_off(all - WINDOW);
    let first = &mut between[..WINDOW];
    line(&format!("tool round of `true`, rounds 1 to {WINDOW}: p50"), ms(percentile(first, 50)), "ms", None);
    let name = format!("  rounds {} to {all}: p50", all - WINDOW);
    line(&name, ms(percentile(last, 50)), "ms", None);
    line("  mean of all", per(ms(took), all), "ms", None);
    line("  the runtime's CPU per round, its commands aside", per(ms(spent), all), "ms", Some(2.0));
    line("  bytes of the last request", requests[all].bytes as f64, "B", None);
    let records = follower.seen();
    drop((client, follower));
    served.stop();
    line("  ledger, bytes per round", per(mb(served.ledger_bytes()) * 1e6, all), "B", Some(4_000.0));
    line("  records per round", per(records as f64, all), "", None);
    Ok(())
}
