//! The worlds: each about one group of races, with limits that are reached soon.

use holon_facts::config::{
    ChildLimits, ContextLimits, HoldPolicy, HostLimits, RetryPolicy, SummaryBy, TurnLimits, UnattendedPolicy,
    WhileStopped, WorkPolicy,
};
use holon_facts::model::FailureKind;
use holon_facts::model_ref::ModelRef;
use holon_facts::provenance::Priority;
use holon_facts::timer::Misfire;
use holon_facts::{Config, Millis};

use super::{Ask, Bounds, Ending, Offer, Pot, SmallWorld};
use crate::scenario::{Action, Message, Sender};

/// All worlds, with bounds that a build server can afford.
pub fn worlds() -> Vec<SmallWorld> {
    vec![
        stop(),
        interject(),
        crash(),
        retry(),
        restore(),
        slots(),
        command(),
        tasks(),
        work(),
        waits(),
        timers(),
        triggers(),
        family(),
        folders(),
    ]
}

/// Waits are short and never drawn: a back-off below four milliseconds has no jitter.
fn config(models: &[&str]) -> Config {
    let base = Config::new(models.iter().filter_map(|name| ModelRef::new(name).ok()).collect());
    Config {
        retry: RetryPolicy {
            retries: 1,
            backoff: Millis(1),
            retry_after_max: Millis(1_000),
            patience: Millis(0),
        },
        hold: HoldPolicy { steps: [Millis(10), Millis(50)].into(), ..base.hold },
        turn: TurnLimits { rounds: 3, repeats_remind: 2, repeats_end: 4, ..base.turn },
        while_stopped: WhileStopped::Queue,
        context: ContextLimits { summary: SummaryBy::Facts, ..base.context },
        ..base
    }
}

const NOTHING: Bounds =
    Bounds { calls: 0, faults: 0, silences: 0, crashes: 0, strays: 0, parks: 0, ahead: 0 };

/// The successful endings of every world, and these more.
fn endings(more: &[(Ending, Pot)]) -> Vec<(Ending, Pot)> {
    [&[(Ending::Plain, Pot::Free), (Ending::Calls(1), Pot::Calls)], more].concat()
}

fn offer(agent: u8, times: u8, action: Action) -> Offer {
    Offer { agent, action, times }
}

fn message(sender: Sender, priority: Priority, key: Option<u32>) -> Action {
    Action::Message(Message {
        sender,
        priority,
        bytes: 4,
        refs: 0,
        images: 0,
        skills: 0,
        key,
        payload: 0,
        text: None,
        names: None,
        deposit: None,
    })
}

fn prompt() -> Action {
    message(Sender::Operator, Priority::Normal, None)
}

fn abort(stop: bool) -> Action {
    Action::Abort { run: None, stop }
}

fn stop() -> SmallWorld {
    SmallWorld {
        name: "stop",
        about: "stop, start and abort at every point of a turn, and while its disk is slow",
        config: config(&["a/one"]),
        agents: 1,
        offers: vec![
            offer(1, 2, prompt()),
            offer(1, 2, Action::Stop),
            offer(1, 1, abort(false)),
            offer(1, 1, abort(true)),
        ],
        endings: endings(&[(Ending::ToolFails, Pot::Faults), (Ending::Misfits, Pot::Faults)]),
        bounds: Bounds { calls: 1, faults: 1, silences: 1, strays: 1, ahead: 1, ..NOTHING },
        tasks: false,
    }
}

fn interject() -> SmallWorld {
    SmallWorld {
        name: "interject",
        about: "interjections and aborts at every safe point and between",
        config: config(&["a/one", "b/two"]),
        agents: 1,
        offers: vec![
            offer(1, 1, prompt()),
            offer(1, 2, message(Sender::Operator, Priority::Interject, None)),
            offer(1, 1, abort(false)),
            offer(1, 1, Action::Stop),
        ],
        endings: endings(&[
            (Ending::Calls(2), Pot::Calls),
            (Ending::Fails(FailureKind::Auth), Pot::Faults),
            (Ending::Breaks, Pot::Faults),
        ]),
        bounds: Bounds { calls: 2, faults: 1, ahead: 1, ..NOTHING },
        tasks: false,
    }
}

fn crash() -> SmallWorld {
    let keyed = |key| message(Sender::Channel, Priority::Normal, Some(key));
    SmallWorld {
        name: "crash",
        about: "messages with keys, repeated by clients that were cut off, and crashes at every row",
        config: Config { queue: two_crashes(), ..config(&["a/one"]) },
        agents: 1,
        offers: vec![
            offer(1, 2, keyed(1)),
            offer(1, 1, message(Sender::Operator, Priority::Next, None)),
            offer(0, 1, Action::Restart),
        ],
        endings: endings(&[]),
        bounds: Bounds { calls: 1, crashes: 2, ahead: 2, ..NOTHING },
        tasks: false,
    }
}

/// Limits under which a message may crash its run twice.
fn two_crashes() -> holon_facts::config::QueueLimits {
    holon_facts::config::QueueLimits { crashes: 2, ..config(&["a/one"]).queue }
}

fn retry() -> SmallWorld {
    SmallWorld {
        name: "retry",
        about: "retries, fallbacks, holds and their trials, and stops among them",
        config: config(&["a/one", "b/two"]),
        agents: 1,
        offers: vec![
            offer(1, 1, prompt()),
            offer(1, 1, message(Sender::Webhook, Priority::Background, None)),
            offer(1, 1, Action::Stop),
            offer(1, 1, abort(false)),
        ],
        endings: endings(&[
            (Ending::Fails(FailureKind::Server), Pot::Faults),
            (Ending::Fails(FailureKind::RateLimited), Pot::Faults),
            (Ending::Fails(FailureKind::Quota), Pot::Faults),
            (Ending::Fails(FailureKind::Auth), Pot::Faults),
            (Ending::Fails(FailureKind::ContextLength), Pot::Faults),
        ]),
        bounds: Bounds { calls: 1, faults: 3, silences: 1, ..NOTHING },
        tasks: false,
    }
}

fn restore() -> SmallWorld {
    SmallWorld {
        name: "restore",
        about: "agents that leave memory and come back, restarts, and crashes during recovery, all from snapshots",
        config: Config { queue: two_crashes(), ..config(&["a/one"]) },
        agents: 2,
        offers: vec![
            offer(1, 2, message(Sender::Operator, Priority::Normal, Some(1))),
            offer(2, 1, prompt()),
            offer(1, 1, Action::Stop),
            offer(0, 1, Action::Restart),
        ],
        endings: endings(&[]),
        bounds: Bounds { crashes: 2, parks: 1, ahead: 1, ..NOTHING },
        tasks: false,
    }
}

fn slots() -> SmallWorld {
    let base = config(&["a/one"]);
    let limits =
        HostLimits { concurrent_turns: 1, decisions_per_step: 1, deadlines_per_step: 1, ..base.limits };
    SmallWorld {
        name: "slots",
        about: "three agents and one slot, one decision and one deadline a step",
        config: Config { limits, ..base },
        agents: 3,
        offers: vec![
            offer(1, 1, prompt()),
            offer(2, 1, prompt()),
            offer(3, 1, prompt()),
            offer(1, 1, Action::Stop),
            offer(2, 1, abort(true)),
        ],
        endings: endings(&[(Ending::Fails(FailureKind::Server), Pot::Faults)]),
        bounds: Bounds { faults: 1, silences: 1, crashes: 1, ..NOTHING },
        tasks: false,
    }
}

fn command() -> SmallWorld {
    SmallWorld {
        name: "command",
        about: "one command from its supervisor to its end, cut short at every point, and what a start finds of it",
        config: Config { queue: two_crashes(), ..config(&["a/one"]) },
        agents: 1,
        offers: vec![
            offer(1, 1, prompt()),
            offer(1, 1, Action::Stop),
            offer(1, 1, abort(false)),
            offer(0, 1, Action::Restart),
        ],
        endings: endings(&[
            (Ending::Commands(1), Pot::Calls),
            (Ending::ToolFails, Pot::Faults),
            (Ending::Breaks, Pot::Faults),
            (Ending::Misfits, Pot::Faults),
        ]),
        bounds: Bounds { calls: 1, faults: 1, silences: 1, crashes: 2, ahead: 1, ..NOTHING },
        tasks: false,
    }
}

fn tasks() -> SmallWorld {
    SmallWorld {
        name: "tasks",
        about: "a command that goes on as a task: how it ends, who ends it, who is told, across stops and crashes",
        config: Config { queue: two_crashes(), ..config(&["a/one"]) },
        agents: 1,
        offers: vec![
            offer(1, 1, prompt()),
            offer(1, 1, Action::Stop),
            offer(1, 1, Action::StopTask { task: 1, force: false }),
        ],
        endings: endings(&[
            (Ending::Tasks(1), Pot::Calls),
            (Ending::Asks(Ask::Output), Pot::Calls),
            (Ending::Asks(Ask::Stop), Pot::Calls),
            (Ending::ToolFails, Pot::Faults),
            (Ending::Breaks, Pot::Faults),
        ]),
        bounds: Bounds { calls: 2, silences: 1, crashes: 1, ..NOTHING },
        tasks: true,
    }
}

/// A configuration in which work without progress gets few turns, and its agent soon rests.
fn few_deferrals() -> Config {
    let base = config(&["a/one"]);
    let deferrals: Vec<Millis> = [Millis(10)].into();
    Config {
        queue: two_crashes(),
        work: WorkPolicy { deferrals: deferrals.clone(), ..base.work },
        unattended: UnattendedPolicy { free_turns: 1, deferrals, ..base.unattended },
        ..base
    }
}

fn work() -> SmallWorld {
    SmallWorld {
        name: "work",
        about: "one work item from its making to its end, by operator and model, among turns that bring nothing",
        config: few_deferrals(),
        agents: 1,
        offers: vec![
            offer(1, 1, Action::CreateWork { keyed: None }),
            offer(1, 1, Action::CompleteWork { item: 1 }),
            offer(1, 1, prompt()),
            offer(1, 1, Action::Stop),
        ],
        endings: endings(&[
            (Ending::Asks(Ask::Pick), Pot::Calls),
            (Ending::Asks(Ask::Block), Pot::Calls),
            (Ending::Asks(Ask::Complete), Pot::Calls),
        ]),
        bounds: Bounds { calls: 2, crashes: 1, ..NOTHING },
        tasks: false,
    }
}

fn waits() -> SmallWorld {
    SmallWorld {
        name: "waits",
        about: "one wait of each kind and another in its place, what ends it at the same time, and its rechecks",
        config: few_deferrals(),
        agents: 1,
        offers: vec![
            offer(1, 2, prompt()),
            offer(1, 1, Action::Deliver { generation: 1, source: 0, says: 0, about: 0 }),
            offer(1, 1, Action::Stop),
        ],
        endings: endings(&[
            (Ending::Asks(Ask::AwaitAnything), Pot::Calls),
            (Ending::Asks(Ask::AwaitTime), Pot::Calls),
            (Ending::Asks(Ask::AwaitOperator), Pot::Calls),
        ]),
        bounds: Bounds { calls: 2, crashes: 1, ..NOTHING },
        tasks: false,
    }
}

fn timers() -> SmallWorld {
    let timer =
        Action::CreateTimer { seconds: 1, every: None, misfire: Misfire::Once, summary: 0, keyed: None };
    SmallWorld {
        name: "timers",
        about: "one timer, which fires, is cancelled or becomes due while nobody looks, beside turns and crashes",
        config: few_deferrals(),
        agents: 1,
        offers: vec![
            offer(1, 1, timer),
            offer(1, 1, Action::CancelTimer { timer: 1 }),
            offer(1, 1, prompt()),
            offer(1, 1, Action::Stop),
            offer(0, 1, Action::Restart),
        ],
        endings: endings(&[(Ending::Asks(Ask::AwaitTime), Pot::Calls)]),
        bounds: Bounds { calls: 1, silences: 1, crashes: 1, parks: 1, ..NOTHING },
        tasks: false,
    }
}

fn triggers() -> SmallWorld {
    let deliver = |generation| Action::Deliver { generation, source: 0, says: 1, about: 0 };
    SmallWorld {
        name: "triggers",
        about: "deliveries to one trigger, of which some repeat, while its address changes and a turn may wait for them",
        config: few_deferrals(),
        agents: 1,
        offers: vec![
            offer(1, 2, deliver(1)),
            offer(1, 1, deliver(2)),
            offer(1, 1, Action::ChangeTrigger { revoke: false }),
            offer(1, 1, prompt()),
            offer(1, 1, Action::Stop),
        ],
        endings: endings(&[(Ending::Asks(Ask::AwaitAnything), Pot::Calls)]),
        bounds: Bounds { calls: 1, crashes: 1, ..NOTHING },
        tasks: false,
    }
}

/// One child at a time, which may have none.
fn family() -> SmallWorld {
    let base = config(&["a/one"]);
    let children = ChildLimits { depth: 1, per_agent: 1 };
    SmallWorld {
        name: "family",
        about: "an agent and its child, which begins, says that it needs somebody, ends or is ended, its parent stopped, crashes among them",
        config: Config { queue: two_crashes(), children, ..base },
        agents: 1,
        offers: vec![
            offer(1, 1, prompt()),
            offer(1, 1, Action::Stop),
            offer(1, 1, Action::StopTask { task: 1, force: false }),
        ],
        endings: vec![
            (Ending::Plain, Pot::Free),
            (Ending::Asks(Ask::Child), Pot::Calls),
            (Ending::Asks(Ask::Tell), Pot::Calls),
            (Ending::Asks(Ask::Output), Pot::Calls),
            (Ending::Asks(Ask::Stop), Pot::Calls),
            (Ending::Asks(Ask::AwaitOperator), Pot::Calls),
            (Ending::Fails(FailureKind::Auth), Pot::Faults),
        ],
        bounds: Bounds { calls: 2, faults: 1, crashes: 1, parks: 1, ahead: 1, ..NOTHING },
        tasks: false,
    }
}

/// Each agent may go to the folder, and change something in it.
fn folders() -> SmallWorld {
    SmallWorld {
        name: "folders",
        about: "two agents that want one folder, of whom one is refused while the other has it, a stop and a crash",
        config: Config { queue: two_crashes(), ..config(&["a/one"]) },
        agents: 2,
        offers: vec![offer(1, 1, prompt()), offer(2, 1, prompt()), offer(1, 1, Action::Stop)],
        endings: endings(&[(Ending::Asks(Ask::Enter), Pot::Calls), (Ending::Commands(1), Pot::Calls)]),
        bounds: Bounds { calls: 4, crashes: 1, ..NOTHING },
        tasks: false,
    }
}
