//! Commands that do nothing, one after the other: what each costs, and what is left of it.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use end_to_end::load::follower::Follower;
use end_to_end::load::model::{Model, Says, prompt};
use end_to_end::load::served::Served;
use end_to_end::load::usage::Usage;
use end_to_end::strays;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::clock::{mb, ms, per};
use crate::table::line;
use crate::{Options, wait_for};

/// Supervisors that may wait for a next command, each in a folder, and the files that the runtime has open for them.
const READY: usize = 1;
const FILES_OF_READY: u64 = 8;
/// How often, and how long in between, is waited for what ends by itself.
const LOOKS: usize = 40;
const MOMENT: Duration = Duration::from_millis(50);
/// Commands of one turn: a request holds all of its turn.
const ROUNDS: usize = 20;
/// Folders that belong to commands in progress, and to tasks.
const FOLDERS: [&str; 2] = ["run/commands", "agents/main/task-output"];

pub(crate) fn row(options: &Options) -> io::Result<()> {
    wait_for(commands(options.size(10, 50)))
}

/// What there is of a runtime and its commands.
struct Left {
    usage: Usage,
    supervisors: usize,
    zombies: usize,
    files: [usize; 2],
}

async fn commands(turns: usize) -> io::Result<()> {
    let asked = AtomicUsize::new(0);
    let model = Model::start(move |_| {
        let last = asked.fetch_add(1, Ordering::Relaxed) % (ROUNDS + 1) == ROUNDS;
        if last { Says::Done } else { Says::Command }
    });
    let mut served = Served::new(&model, &[]);
    std::fs::create_dir(served.holon.home())?;
    let config = "[limits]\nrepeats_remind = 0\nrepeats_end = 1000000\n";
    std::fs::write(served.holon.home().join("config.toml"), config)?;
    served.start();
    let mut client = served.connect().await?;
    let mut follower = Follower::new(served.connect().await?, "main", 0).await?;
    // The first turn brings what is made once.
    client.prompt("main", &prompt(0, 0)).await?;
    follower.until_asleep().await?;
    let (before, began) = (at_rest(&served).await, Instant::now());
    for turn in 1..=turns {
        let turn = u32::try_from(turn).map_err(io::Error::other)?;
        client.prompt("main", &prompt(0, turn)).await?;
        follower.until_asleep().await?;
    }
    let (took, after, all) = (began.elapsed(), at_rest(&served).await, turns * ROUNDS);
    line(
        &format!("{all} commands in a row (`bash -lc true`): time for each"),
        per(ms(took), all),
        "ms",
        None,
    );
    let own = after.usage.cpu.saturating_sub(before.usage.cpu);
    line("  the runtime's CPU for each", per(ms(own), all), "ms", None);
    let theirs = after.usage.children.saturating_sub(before.usage.children);
    line("  CPU of supervisor and command", per(ms(theirs), all), "ms", None);
    let grown = after.usage.resident.saturating_sub(before.usage.resident);
    line("  memory that came with them", mb(grown), "MB", Some(4.0));
    let (was, is) = (before.usage.descriptors, after.usage.descriptors);
    line("  open files before", was as f64, "", None);
    line("  and after", is as f64, "", Some((was + FILES_OF_READY) as f64));
    line("  supervisors that are left", after.supervisors as f64, "", Some(READY as f64));
    for (folder, files) in FOLDERS.iter().zip(after.files) {
        line(&format!("  entries in {folder}"), files as f64, "", Some(0.0));
    }
    drop((client, follower));
    served.stop();
    let [folders, outputs] = after.files;
    let beyond = [after.supervisors, folders].map(|left| left.saturating_sub(READY));
    let is_left = beyond.iter().sum::<usize>() + after.zombies + outputs > 0;
    if is > was + FILES_OF_READY || is_left {
        return Err(io::Error::other("something of the commands is left"));
    }
    Ok(())
}

/// What is left a moment later: the supervisor of the last command reports its end before it has ended itself.
async fn at_rest(served: &Served) -> Left {
    let mut left = left(served);
    for _ in 0..LOOKS {
        if left.supervisors <= READY && left.zombies == 0 {
            break;
        }
        tokio::time::sleep(MOMENT).await;
        left = self::left(served);
    }
    left
}

fn left(served: &Served) -> Left {
    let home = served.holon.home();
    Left {
        usage: served.usage(),
        supervisors: strays::supervisors(&home).len(),
        zombies: strays::zombies_of(served.pid()).len(),
        files: FOLDERS.map(|folder| entries(&home.join(folder))),
    }
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}
