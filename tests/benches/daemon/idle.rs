//! What a runtime costs that has nothing to do, with one agent and with many.

use std::io;
use std::time::Duration;

use end_to_end::load::follower::Follower;
use end_to_end::load::model::{Model, Says, prompt};
use end_to_end::load::served::Served;
use end_to_end::load::usage::Usage;
use tokio::task::JoinSet;

use crate::clock::{all, mb, ms, per};
use crate::table::line;
use crate::{Options, wait_for};

/// Threads for what blocks are kept for 10 s after their last work.
const SETTLE: Duration = Duration::from_secs(12);
/// Who makes agents at once.
const CLIENTS: usize = 16;

pub(crate) fn row(options: &Options) -> io::Result<()> {
    wait_for(idle(options))
}

async fn idle(options: &Options) -> io::Result<()> {
    let seconds = options.size(10, 60);
    let model = Model::start(|_| Says::Done);
    let mut served = Served::new(&model, &[]);
    served.start();
    let mut client = served.connect().await?;
    let mut follower = Follower::new(served.connect().await?, "main", 0).await?;
    client.prompt("main", &prompt(0, 0)).await?;
    follower.until_asleep().await?;
    drop((client, follower));
    let one = look(&served, "one agent, one turn ago", seconds, 15.0).await;
    served.stop();
    served.start();
    look(&served, "one agent, after a start", seconds, 15.0).await;

    let agents = options.size(1_000, 10_000);
    create(&served, agents).await?;
    let made = served.usage();
    line(&format!("memory right after {agents} agents were made"), mb(made.resident), "MB", None);
    served.stop();
    let ready = served.start();
    line(&format!("ready, {agents} agents without work"), ms(ready), "ms", Some(100.0));
    let many = look(&served, &format!("{agents} agents, after a start"), seconds, 100.0).await;
    if many.threads > one.threads {
        let told = format!("{} threads for {agents} agents, {} for one", many.threads, one.threads);
        return Err(io::Error::other(told));
    }
    served.stop();
    Ok(())
}

/// Leaves it alone for so long.
async fn look(served: &Served, who: &str, seconds: usize, target: f64) -> Usage {
    tokio::time::sleep(SETTLE).await;
    let before = served.usage();
    tokio::time::sleep(Duration::from_secs(seconds as u64)).await;
    let after = served.usage();
    line(&format!("idle, {who}: memory"), mb(after.resident), "MB", Some(target));
    let processor = per(ms(after.cpu.saturating_sub(before.cpu)) / 10.0, seconds);
    line(&format!("  CPU over {seconds} s"), processor, "%", Some(0.0));
    let (wakeups, threads) = (after.wakeups.saturating_sub(before.wakeups) as f64, after.threads as f64);
    line(&format!("  wake-ups over {seconds} s"), wakeups, "", None);
    line("  threads", threads, "", None);
    after
}

async fn create(served: &Served, agents: usize) -> io::Result<()> {
    let mut tasks = JoinSet::new();
    for client in 0..CLIENTS {
        let mut connection = served.connect().await?;
        tasks.spawn(async move {
            for agent in (client..agents).step_by(CLIENTS) {
                connection.create(&format!("agent-{agent}")).await?;
            }
            Ok(())
        });
    }
    all(tasks).await?;
    Ok(())
}
