//! One agent, one prompt at a time, over many turns: from a prompt to the request that it leads to, memory, and
//! what a turn leaves in the ledger. None of it may grow with the past.

use std::io;
use std::time::{Duration, Instant};

use end_to_end::load::follower::Follower;
use end_to_end::load::model::{Model, Says, prompt};
use end_to_end::load::served::Served;
use end_to_end::load::usage;
use tokio::sync::mpsc;

use crate::clock::{mb, ms, per, percentile};
use crate::table::line;
use crate::{Options, wait_for};

/// Turns that are looked at together.
const WINDOW: usize = 200;

pub(crate) fn row(options: &Options) -> io::Result<()> {
    wait_for(turns(options.size(2_000, 100_000)))
}

/// What a window showed.
#[derive(Default)]
struct Window {
    /// From a prompt that is about to be sent to its request, and from its acknowledgement.
    sent: Vec<Duration>,
    accepted: Vec<Duration>,
    took: Duration,
}

async fn turns(all: usize) -> io::Result<()> {
    let (asked, mut asks) = mpsc::channel(1);
    let model = Model::start(move |request| {
        asked.try_send(request).expect("one prompt at a time");
        Says::Done
    });
    let mut served = Served::new(&model, &[]);
    served.start();
    let mut client = served.connect().await?;
    let mut follower = Follower::new(served.connect().await?, "main", 0).await?;
    let looked_at = [10, 1_000, 10_000, all - WINDOW];
    let mut window = Window::default();
    let (mut early, mut processor) = (None, None);
    for turn in 0..all {
        if turn == WINDOW {
            early = Some(served.usage());
        }
        if looked_at.contains(&turn) {
            window = Window::default();
            processor = Some((served.usage().cpu, usage::own().cpu));
        }
        let number = u32::try_from(turn).map_err(io::Error::other)?;
        let began = Instant::now();
        client.prompt("main", &prompt(0, number)).await?;
        let accepted = Instant::now();
        let request = asks.recv().await.ok_or_else(|| io::Error::other("the model is gone"))?;
        if request.turn != number {
            return Err(io::Error::other(format!("prompt {turn} led to a request of {}", request.turn)));
        }
        follower.until_asleep().await?;
        window.sent.push(request.at - began);
        window.accepted.push(request.at.saturating_duration_since(accepted));
        window.took += began.elapsed();
        if let Some(first) = looked_at.iter().find(|first| *first + WINDOW == turn + 1)
            && let Some((before, own)) = processor.take()
        {
            let spent = [served.usage().cpu.saturating_sub(before), usage::own().cpu.saturating_sub(own)];
            told(*first, &mut window, spent, request.bytes);
        }
    }
    let (early, late) = (early.unwrap_or_else(|| served.usage()), served.usage());
    line(&format!("memory after {WINDOW} turns of one agent"), mb(early.resident), "MB", None);
    let grown = mb(late.resident) / mb(early.resident);
    line(&format!("memory after {all} turns"), mb(late.resident), "MB", Some(mb(early.resident).round()));
    line("  times that after the first of them", grown, "", None);
    line("  the most it ever had", mb(late.peak), "MB", None);
    let records = follower.seen();
    drop((client, follower));
    served.stop();
    line("ledger, bytes per turn", per(mb(served.ledger_bytes()) * 1e6, all), "B", None);
    line("  records per turn", per(records as f64, all), "", None);
    Ok(())
}

fn told(first: usize, window: &mut Window, [runtime, own]: [Duration; 2], bytes: usize) {
    let last = first + WINDOW;
    let sent = &mut window.sent;
    line(
        &format!("prompt sent to model asked, turns {first} to {last}: p50"),
        ms(percentile(sent, 50)),
        "ms",
        Some(3.0),
    );
    line("  p99", ms(percentile(sent, 99)), "ms", Some(15.0));
    line("  prompt accepted to model asked: p50", ms(percentile(&mut window.accepted, 50)), "ms", Some(3.0));
    line("  p99", ms(percentile(&mut window.accepted, 99)), "ms", Some(15.0));
    line("  whole turn, mean", per(ms(window.took), WINDOW), "ms", None);
    line("  the runtime's CPU per turn", per(ms(runtime), WINDOW), "ms", None);
    line("  the load program's", per(ms(own), WINDOW), "ms", None);
    line("  bytes of the last request", bytes as f64, "B", None);
}
