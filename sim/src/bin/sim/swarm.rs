//! Many seeds, run by several jobs, each a world of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sim::isolation;
use sim::options::{Judges, Options};
use sim::swarm;
use sim::tally::Tally;
use sim::verdict::guarded;

use crate::one;
use crate::progress::{Bound, Progress};
use crate::words::{duration, number};

/// Exit code of a campaign in which a law or a fault was silent.
const VACUOUS: u8 = 13;
/// Seeds between two progress lines without a terminal.
const PROGRESS_EVERY: u64 = 2_000;
/// Every so many seeds a scenario runs again without one of its agents.
const APART_EVERY: u64 = 20;
/// Failures that a swarm shrinks; the others are only printed.
const SHRUNK: u64 = 3;

/// A campaign: consecutive seeds, so many or for so long, by so many jobs.
pub(crate) struct Campaign {
    from: u64,
    seeds: u64,
    lasts: Option<Duration>,
    jobs: u64,
    judges: Judges,
}

/// What all jobs share.
struct Course {
    next: AtomicU64,
    failures: AtomicU64,
    until: Option<Instant>,
    progress: Progress,
}

impl Campaign {
    /// `seeds` is the number of seeds if no option sets a number or a time.
    pub(crate) fn of(rest: &[&str], seeds: Option<u64>) -> Result<Self, String> {
        let lasts = duration(rest)?;
        let without = if lasts.is_some() { Some(u64::MAX) } else { seeds };
        let Some(seeds) = number(rest, "--seeds")?.or(without) else { return Err(crate::USAGE.into()) };
        let (from, jobs) = (number(rest, "--from")?.unwrap_or(1), number(rest, "--jobs")?.unwrap_or(1));
        let judges = if rest.contains(&"--laws") { Judges::Laws } else { Judges::All };
        Ok(Self { from, seeds, lasts, jobs: jobs.clamp(1, 64), judges })
    }

    /// Each job takes the next seed until there is none. Returns the exit code of the first failure, and the tally of
    /// all jobs.
    pub(crate) fn run(&self) -> (u8, Tally) {
        let bound = match self.lasts {
            Some(lasts) => Bound::Time(lasts),
            None => Bound::Count(self.seeds),
        };
        let course = Course {
            next: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            until: self.lasts.map(|lasts| Instant::now() + lasts),
            progress: Progress::new("seeds", bound).every(PROGRESS_EVERY),
        };
        let mut all = (0, Tally::default());
        std::thread::scope(|scope| {
            let jobs: Vec<_> = (0..self.jobs).map(|_| scope.spawn(|| self.work(&course))).collect();
            for job in jobs {
                let (code, tally) = job.join().unwrap_or((14, Tally::default()));
                all.0 = if all.0 == 0 { code } else { all.0 };
                all.1.merge(tally);
            }
        });
        course.progress.clear();
        all
    }

    fn work(&self, course: &Course) -> (u8, Tally) {
        let (mut code, mut tally) = (0, Tally::default());
        loop {
            let done = course.next.fetch_add(1, Ordering::Relaxed);
            if done >= self.seeds || course.until.is_some_and(|until| Instant::now() >= until) {
                return (code, tally);
            }
            course.progress.at(done, course.failures.load(Ordering::Relaxed));
            let failed = self.one(self.from + done, &mut tally, course);
            code = if code == 0 { failed } else { code };
        }
    }

    fn one(&self, seed: u64, tally: &mut Tally, course: &Course) -> u8 {
        let scenario = swarm::scenario(seed);
        let mut report = guarded(&scenario, Options { judges: self.judges, ..Options::default() });
        let apart = self.judges == Judges::All && seed.is_multiple_of(APART_EVERY);
        if report.failure.is_none() && apart {
            match isolation::check(&scenario, None) {
                Some(Ok(())) => *report.checked.entry("D12").or_default() += 1,
                Some(Err(failure)) => report.failure = Some(failure),
                None => {}
            }
        }
        tally.add(&report);
        let Some(failure) = &report.failure else { return 0 };
        course.failures.fetch_add(1, Ordering::Relaxed);
        course.progress.clear();
        let code = one::failed(&seed.to_string(), failure);
        if tally.failures <= SHRUNK
            && let Err(problem) = one::shrunk(&seed.to_string(), &scenario, &[])
        {
            eprintln!("{problem}");
        }
        code
    }
}

/// The exit code of a campaign, also if nothing failed but something was silent.
pub(crate) fn verdict(code: u8, tally: &Tally) -> u8 {
    if code == 0 && tally.vacuous() { VACUOUS } else { code }
}

pub(crate) fn swarm(rest: &[&str]) -> Result<u8, String> {
    let campaign = Campaign::of(rest, None)?;
    let began = Instant::now();
    let (code, tally) = campaign.run();
    println!("what laws had to say: {:?}", tally.checked);
    println!("faults that struck, and what they met: {:?}", tally.fired);
    println!("errors that were returned: {:?}", tally.errors);
    let (missing, new) = tally.adjacency();
    println!(
        "{} pairs of events, {} that were due are unseen: {missing:?}",
        tally.pairs.len(),
        missing.len()
    );
    if !new.is_empty() {
        println!("pairs that nobody declared: {new:?}");
    }
    rates(&tally, began.elapsed().as_secs_f64());
    if campaign.judges == Judges::Laws {
        return Ok(code);
    }
    let silent = tally.silent();
    if !silent.is_empty() {
        println!("silent: {silent:?}");
    }
    Ok(verdict(code, &tally))
}

fn rates(tally: &Tally, seconds: f64) {
    println!(
        "{} seeds, {} steps, {} records, {} crashes, {} s of virtual time, {} failures, {} of 1000 end in a turn",
        tally.runs,
        tally.steps,
        tally.records,
        tally.crashes,
        tally.virtual_time / 1_000_000,
        tally.failures,
        tally.worth()
    );
    println!(
        "{:.0} seeds/s, {:.0} steps/s, {:.0} turns/s, {} steps a seed",
        tally.runs as f64 / seconds,
        tally.steps as f64 / seconds,
        tally.turns as f64 / seconds,
        tally.steps / tally.runs.max(1)
    );
}
