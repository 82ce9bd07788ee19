//! Many agents at once, each with its next prompt as soon as its model was asked about the one before.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use end_to_end::load::connection::Connection;
use end_to_end::load::model::{Asked, Model, Says, prompt};
use end_to_end::load::served::Served;
use end_to_end::load::usage;
use tokio::sync::mpsc::{self, Receiver};
use tokio::task::JoinSet;

use crate::clock::{all, mb, ms, per};
use crate::table::line;
use crate::{Options, wait_for};

const AGENTS: u32 = 100;
/// Turns of each agent before anything counts.
const WARM: u32 = 3;

pub(crate) fn row(options: &Options) -> io::Result<()> {
    let turns = if options.full { 200 } else { 30 };
    for (durability, target) in [("full", 2.0), ("process", 1.0)] {
        wait_for(throughput(durability, turns, target))?;
    }
    Ok(())
}

async fn throughput(durability: &str, turns: u32, target: f64) -> io::Result<()> {
    let (senders, asks): (Vec<_>, Vec<_>) = (0..AGENTS).map(|_| mpsc::channel(2)).unzip();
    let senders: Arc<[_]> = senders.into();
    let model = Model::start(move |request: Asked| {
        senders[request.agent as usize].try_send(request).expect("each prompt leads to one request");
        Says::Done
    });
    let mut served = Served::new(&model, &[("HOLON_DURABILITY", durability)]);
    served.start();
    let mut clients = Vec::new();
    for (agent, asks) in (0..AGENTS).zip(asks) {
        let mut connection = served.connect().await?;
        connection.create(&name(agent)).await?;
        clients.push(Client { agent, connection, asks });
    }
    clients = together(clients, 0..WARM).await?;
    settled(&served, AGENTS * WARM).await?;
    let (before, own, began) = (served.usage(), usage::own().cpu, Instant::now());
    together(clients, WARM..WARM + turns).await?;
    settled(&served, AGENTS * (WARM + turns)).await?;
    let (took, after, own) = (began.elapsed(), served.usage(), usage::own().cpu.saturating_sub(own));
    let count = (AGENTS * turns) as usize;
    let rate = f64::from(AGENTS * turns) / took.as_secs_f64();
    line(&format!("{AGENTS} agents at once, {count} turns, durability {durability}"), rate, "turns/s", None);
    line(
        "  the runtime's CPU per turn",
        per(ms(after.cpu.saturating_sub(before.cpu)), count),
        "ms",
        Some(target),
    );
    line("  the load program's CPU per turn", per(ms(own), count), "ms", None);
    line("  memory", mb(after.resident), "MB", None);
    served.stop();
    Ok(())
}

struct Client {
    agent: u32,
    connection: Connection,
    asks: Receiver<Asked>,
}

fn name(agent: u32) -> String {
    format!("agent-{agent}")
}

/// Lets each of them have these turns; gives them back.
async fn together(clients: Vec<Client>, turns: std::ops::Range<u32>) -> io::Result<Vec<Client>> {
    let mut tasks = JoinSet::new();
    for mut client in clients {
        let turns = turns.clone();
        tasks.spawn(async move {
            for turn in turns {
                client.turn(turn).await?;
            }
            Ok(client)
        });
    }
    all(tasks).await
}

impl Client {
    async fn turn(&mut self, turn: u32) -> io::Result<()> {
        self.connection.prompt(&name(self.agent), &prompt(self.agent, turn)).await?;
        let request = self.asks.recv().await.ok_or_else(|| io::Error::other("the model is gone"))?;
        if request.turn != turn {
            return Err(io::Error::other(format!("prompt {turn} led to a request of {}", request.turn)));
        }
        Ok(())
    }
}

/// Waits until so many turns have ended.
async fn settled(served: &Served, turns: u32) -> io::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let ended = served.metric("holon_turns_total").await?;
        if ended >= u64::from(turns) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(io::Error::other(format!("{ended} of {turns} turns have ended")));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
