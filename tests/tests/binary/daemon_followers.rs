//! Many follow an agent at once. The programs of `docs/measures.md` do the same with more of everything.

use std::io;
use std::time::Duration;

use end_to_end::load::follower::Follower;
use end_to_end::load::model::{Model, Says, prompt};
use end_to_end::load::served::Served;
use tokio::task::JoinSet;

const FOLLOWERS: usize = 40;
const TURNS: u32 = 12;
/// For all of it, on a machine that does much else.
const ENOUGH: Duration = Duration::from_secs(180);

#[test]
fn everyone_who_follows_gets_every_event_once_and_in_order() {
    let model = Model::start(|_| Says::Done);
    let mut served = Served::new(&model, &[]);
    served.start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let followed = async { tokio::time::timeout(ENOUGH, follow(&served)).await };
    runtime.block_on(followed).expect("nobody waits for an event that never comes").unwrap();
    served.stop();
    served.holon.check_ledger(&served.holon.home().join("ledger.sqlite3"));
}

async fn follow(served: &Served) -> io::Result<()> {
    let mut client = served.connect().await?;
    let mut first = Follower::new(served.connect().await?, "main", 0).await?;
    let mut tasks = JoinSet::new();
    let (tell, told) = tokio::sync::watch::channel(0);
    for turn in 0..TURNS {
        // They come while it happens, each from a past event on: the ledger hands over to what is in memory.
        for _ in 0..FOLLOWERS / TURNS as usize + 1 {
            let after = first.seen() / 2;
            let follower = Follower::new(served.connect_tcp().await?, "main", after).await?;
            tasks.spawn(to_the_last(follower, told.clone()));
        }
        client.prompt("main", &prompt(0, turn)).await?;
        first.until_asleep().await?;
    }
    let last = served.last_event("main").await?;
    assert_eq!(first.seen(), last);
    tell.send(last).map_err(io::Error::other)?;
    let mut ended = 0;
    while let Some(task) = tasks.join_next().await {
        assert_eq!(task??, last);
        ended += 1;
    }
    assert!(ended >= FOLLOWERS);
    Ok(())
}

/// Follows until it is told which event is the last one, and has it. Any event but the next one is an error.
async fn to_the_last(mut follower: Follower, mut told: tokio::sync::watch::Receiver<u64>) -> io::Result<u64> {
    loop {
        let last = *told.borrow_and_update();
        if last > 0 && follower.seen() >= last {
            return Ok(follower.seen());
        }
        tokio::select! {
            event = follower.next() => drop(event?),
            changed = told.changed() => changed.map_err(io::Error::other)?,
        }
    }
}
