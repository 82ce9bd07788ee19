//! Every kind of fault that the world knows, and what must have happened for one to have proved anything.

/// One row of the catalogue, as far as the world has it.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Rows of the catalogue of faults.
    pub rows: &'static str,
    /// What is counted when it strikes.
    pub name: &'static str,
    /// What is counted when it meets what its contract speaks of; none where the strike is that already.
    pub meets: Option<&'static str>,
}

const fn kind(rows: &'static str, name: &'static str, meets: &'static str) -> Kind {
    Kind { rows, name, meets: if meets.is_empty() { None } else { Some(meets) } }
}

/// A swarm in which one of them never strikes, or never meets anything, has lost it.
pub const KINDS: [Kind; 79] = [
    kind("PV1 PV3 PV5 PV6 PV8", "provider.fails", "an attempt has failed"),
    kind("PV4 PV5", "provider.away", "an attempt is repeated"),
    kind("PV4 PV5", "provider.away", "a wait is spread"),
    kind("PV4", "provider.limited", "several agents are limited at once"),
    kind("PV2 PV3", "provider.silent", "an operation has timed out"),
    kind("PV7", "provider.too_long", "a refusal is answered with a recap"),
    kind("PV9 PV13 PV14 PV15", "provider.odd", "a call is refused"),
    kind("PV13", "provider.huge", "a round has a hundred calls"),
    kind("PV15", "provider.commands", "a model gives commands"),
    kind("PV10", "provider.slow", ""),
    kind("PV11", "provider.twice", "an outcome that nobody awaits"),
    kind("PV12", "outcome of an earlier life", "an outcome that nobody awaits"),
    kind("PV12 CT9", "cancel.ignored", "an outcome that nobody awaits"),
    kind("PV2", "provider.odd_outcome", "an operation has failed"),
    kind("PV2 PV10", "provider.dead", "a stop while nobody answers"),
    kind("PR1", "tool.fails", "a call has an error for its result"),
    kind("PR11", "tool.silent", "an operation has timed out"),
    kind("PR7", "tool.twice", "an outcome that nobody awaits"),
    kind("PR8", "tool.odd_outcome", "an operation has failed"),
    kind("PR4 PR11", "tool.dead", "a stop while nobody answers"),
    kind("PR8", "crash during a tool call", "a call was interrupted"),
    kind("PR1 PR11", "supervisor.fails", "a call has an error for its result"),
    kind("PR7", "supervisor.twice", "an outcome that nobody awaits"),
    kind("PR8", "supervisor.odd_outcome", "an operation has failed"),
    kind("PR8", "supervisor.lost", "command found lost"),
    kind("PR8", "crash during a tool call", "command found alive"),
    kind("PR8", "crash during a tool call", "command found ended"),
    kind("PR8", "crash during a tool call", "command found not started"),
    kind("PR1", "a command goes on as a task", ""),
    kind("PR2", "a task is asked to end", "a command ends by itself before it is ended"),
    kind("PR4", "a task is asked to end", "a command ignores SIGTERM"),
    kind("PR4", "stop.ignored", "a task ends unproven"),
    kind("PR8", "supervisor's life.killed", "a task ends unproven"),
    kind("PR8", "crash", "a command is watched again"),
    kind("CT2 CH2", "a task is asked to end", "a command ends while its agent is stopped"),
    kind("PR8", "crash", "a command ends while the process is down"),
    kind("CT5", "restart", "a command goes on beyond a shutdown"),
    kind("PR11", "task.silent", "an operation has timed out"),
    kind("PR1", "task.fails", "a call has an error for its result"),
    kind("PR3", "a task is written to", ""),
    kind("PV1", "context.fails", "an operation has failed"),
    kind("PV11", "context.twice", "an outcome that nobody awaits"),
    kind("PV2", "context.odd_outcome", "an operation has failed"),
    kind("CK1", "clock goes forward", "the clock jumps over a deadline"),
    kind("CK2", "clock goes back", "a step of the clock is recorded"),
    kind("CK2", "clock goes back", "the clock goes back while something is due"),
    kind("CK3", "timer.late", ""),
    kind("CK4", "timer.early", ""),
    kind("CK5", "timer.twice", ""),
    kind("CK6", "the machine sleeps", "the machine sleeps during a turn"),
    kind("CK7", "the clock is at an end", ""),
    kind("CK8", "many things at one instant", ""),
    kind("ST1", "crash", "crash loses rows"),
    kind("ST2 ST3", "crash", "crash during a turn"),
    kind("ST4", "disk.torn", "disk.cut short"),
    kind("ST5", "disk.torn", "disk.hole"),
    kind("ST6", "disk.fails", "a sync fails while somebody waits"),
    kind("ST6", "disk.sticky", ""),
    kind("ST7", "disk.lies", "a lie costs what was told"),
    kind("ST7", "disk.lies", "a lost message is admitted anew"),
    kind("ST7", "disk.lies", "a follower is ahead of the log"),
    kind("ST8", "disk full", "a full disk refuses an input"),
    kind("ST8", "disk full", "a full disk takes a stop"),
    kind("ST9", "disk.sticks", "the driver waits for the disk"),
    kind("ST10", "disk.damaged", "disk.flipped"),
    kind("ST11", "snapshot.damaged", "an older snapshot is used"),
    kind("ST11", "snapshot.damaged", "the log stands in for a snapshot"),
    kind("ST12", "disk.damaged", "disk.misdirected"),
    kind("IN1", "client.twice", "a key is known"),
    kind("IN3", "client.ack_lost", "a key is known"),
    kind("IN4", "a flood", "a queue is full"),
    kind("IN5 CT5", "restart", "a run is shut down"),
    kind("CT3", "start and stop at one instant", ""),
    kind("CT4", "crash", "crash while a command waits for the disk"),
    kind("CT7", "an interjection", ""),
    kind("RS2", "crash soon after a start", "a message is dropped"),
    kind("RS3 CT8", "another configuration", "a carried turn under another configuration"),
    kind("CT8", "another model during a turn", ""),
    kind("RS1", "agent parked", ""),
];

/// Several faults together, counted when all of it has happened.
pub const PATTERNS: [&str; 6] = [
    "swizzle stop",
    "retry storm",
    "crash loop",
    "clock sandwich",
    "disk full, then stop",
    "everything twice",
];
