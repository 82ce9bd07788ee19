//! Many who follow one agent, of whom everyone must get every event once and in order; and one who stops to
//! read, is cut, and goes on by its cursor.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use end_to_end::load::connection::Connection;
use end_to_end::load::follower::Follower;
use end_to_end::load::model::{Model, Says, prompt};
use end_to_end::load::served::Served;
use end_to_end::load::usage;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{interval, timeout};

use crate::clock::{all, mb, per};
use crate::table::line;
use crate::{Options, wait_for};

/// Events of these turns are more than the buffers of a connection take.
const PAST: u32 = 150;
/// When nobody gets anything for so long, nobody ever will.
const PATIENCE: Duration = Duration::from_secs(60);

/// So many followers, and so many turns a second.
struct Crowd {
    followers: usize,
    per_second: u32,
    turns: u32,
}

pub(crate) fn row(options: &Options) -> io::Result<()> {
    let seconds = if options.full { 60 } else { 15 };
    wait_for(crowd(&Crowd { followers: 1_000, per_second: 2, turns: 2 * seconds }))?;
    wait_for(crowd(&Crowd { followers: 100, per_second: 20, turns: 20 * seconds }))?;
    wait_for(one_that_stops())
}

async fn crowd(crowd: &Crowd) -> io::Result<()> {
    let Crowd { followers, per_second, turns } = *crowd;
    let model = Model::start(|_| Says::Done);
    let mut served = Served::new(&model, &[]);
    served.start();
    let mut turner = Turner::new(&served, 20).await?;
    let before = served.usage();
    let first = turner.follower.seen();
    let (tell, told) = watch::channel(None);
    let delivered: Arc<AtomicU64> = Arc::default();
    let mut tasks = JoinSet::new();
    for _ in 0..followers {
        let follower = Follower::new(served.connect_tcp().await?, "main", first).await?;
        tasks.spawn(to_the_last(follower, told.clone(), delivered.clone()));
    }
    let connected = served.usage();
    let (own, began) = (usage::own().cpu, Instant::now());
    let mut pace = interval(Duration::from_secs(1) / per_second);
    for _ in 0..turns {
        pace.tick().await;
        turner.turn().await?;
    }
    let last = turner.follower.seen();
    tell.send(Some(last)).map_err(io::Error::other)?;
    let late = Instant::now();
    tokio::select! {
        ended = all(tasks) => drop(ended?),
        () = nobody_gets_anything(&delivered) => {
            let (all, got) = ((last - first) * followers as u64, delivered.load(Ordering::Relaxed));
            return Err(io::Error::other(format!("{got} of {all} events were delivered, and no more came")));
        }
    }
    let (late, took, after) = (late.elapsed(), began.elapsed(), served.usage());
    let own = usage::own().cpu.saturating_sub(own);
    let events = (last - first) as f64 * followers as f64;
    line(
        &format!("{followers} followers, {turns} turns at {per_second}/s: events delivered, none lost"),
        events,
        "",
        None,
    );
    line("  events per second", events / took.as_secs_f64(), "", None);
    line("  the last one had the last event after", late.as_secs_f64() * 1e3, "ms", None);
    let busy = |spent: Duration| 100.0 * spent.as_secs_f64() / took.as_secs_f64();
    line("  the runtime's CPU", busy(after.cpu.saturating_sub(connected.cpu)), "%", None);
    let each = (after.cpu.saturating_sub(connected.cpu)).as_secs_f64() * 1e6 / events;
    line("  the runtime's CPU per event delivered", each, "us", None);
    line("  the load program's CPU", busy(own), "%", None);
    line("  memory before they came", mb(before.resident), "MB", None);
    line("  memory with all of them", mb(connected.resident), "MB", None);
    let more = mb(after.peak.saturating_sub(before.resident)) * 1e3;
    line("  the most it had, per follower", per(more, followers), "kB", None);
    line("  the most it had", mb(after.peak), "MB", None);
    Ok(())
}

async fn nobody_gets_anything(delivered: &AtomicU64) {
    loop {
        let before = delivered.load(Ordering::Relaxed);
        tokio::time::sleep(PATIENCE).await;
        if delivered.load(Ordering::Relaxed) == before {
            return;
        }
    }
}

/// Follows until it is told which event is the last one, and has it.
async fn to_the_last(
    mut follower: Follower,
    mut told: watch::Receiver<Option<u64>>,
    delivered: Arc<AtomicU64>,
) -> io::Result<()> {
    loop {
        let last = *told.borrow_and_update();
        if last.is_some_and(|last| follower.seen() >= last) {
            return Ok(());
        }
        tokio::select! {
            event = follower.next() => {
                event?;
                delivered.fetch_add(1, Ordering::Relaxed);
            }
            changed = told.changed() => changed.map_err(io::Error::other)?,
        }
    }
}

/// Gives an agent one turn after the other.
struct Turner {
    client: Connection,
    follower: Follower,
    turn: u32,
}

impl Turner {
    /// With some turns in the past.
    async fn new(served: &Served, past: u32) -> io::Result<Self> {
        let follower = Follower::new(served.connect().await?, "main", 0).await?;
        let mut turner = Self { client: served.connect().await?, follower, turn: 0 };
        for _ in 0..past {
            turner.turn().await?;
        }
        Ok(turner)
    }

    async fn turn(&mut self) -> io::Result<()> {
        self.client.prompt("main", &prompt(0, self.turn)).await?;
        self.turn += 1;
        self.follower.until_asleep().await
    }
}

async fn one_that_stops() -> io::Result<()> {
    let model = Model::start(|_| Says::Done);
    let mut served = Served::new(&model, &[]);
    served.start();
    let mut turner = Turner::new(&served, PAST).await?;
    let before = served.usage();
    let stream = UnixStream::connect(served.holon.home().join("run/holon.sock"))?;
    let cut = cut(stream.try_clone()?);
    stream.set_nonblocking(true)?;
    let connection = Connection::over(tokio::net::UnixStream::from_std(stream)?);
    let mut stopped = Follower::new(connection, "main", 0).await?;
    let began = Instant::now();
    let mut cut = std::pin::pin!(cut);
    let mut pace = interval(Duration::from_millis(500));
    loop {
        tokio::select! {
            cut = &mut cut => break cut.map_err(io::Error::other)??,
            _ = pace.tick() => turner.turn().await?,
        }
    }
    line("a follower that stops to read is cut after", began.elapsed().as_secs_f64(), "s", Some(30.0));
    let grown = mb(served.usage().peak.saturating_sub(before.peak));
    line("  memory that came with it, at most", grown, "MB", None);
    while stopped.next().await.is_ok() {}
    let (got, last) = (stopped.seen(), turner.follower.seen());
    if got == 0 || got >= last {
        return Err(io::Error::other(format!("it was cut after {got} of {last} events")));
    }
    let mut again = Follower::new(served.connect().await?, "main", got).await?;
    let missed =
        timeout(PATIENCE, again.until(last)).await.map_err(|_| io::Error::other("it got no more"))??;
    line("  events that it had, of them", got as f64, "", None);
    line("  events that it got by its cursor, none lost", missed as f64, "", None);
    drop((turner, again));
    served.stop();
    served.holon.check_ledger(&served.holon.home().join("ledger.sqlite3"));
    Ok(())
}

/// Waits until the other end of a connection is closed, without reading from it.
fn cut(stream: UnixStream) -> JoinHandle<io::Result<()>> {
    tokio::task::spawn_blocking(move || {
        let within = Timespec { tv_sec: 90, tv_nsec: 0 };
        match poll(&mut [PollFd::new(&stream, PollFlags::RDHUP)], Some(&within))? {
            0 => Err(io::Error::other("it was not cut")),
            _ => Ok(()),
        }
    })
}
