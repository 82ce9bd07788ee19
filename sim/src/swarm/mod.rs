//! From a seed to a scenario: limits that are reached, inputs that collide, faults that strike together.

mod family;
mod operators;
mod pattern;

use holon_facts::budget::Budgets;
use holon_facts::config::{
    ChildLimits, ContextLimits, HoldPolicy, HostLimits, QueueLimits, RetryPolicy, Share, SummaryBy,
    TaskLimits, TurnLimits, WhileStopped,
};
use holon_facts::model_ref::ModelRef;
use holon_facts::price::{Cost, ModelPrice, Price, Prices};
use holon_facts::provenance::Priority;
use holon_facts::timer::Misfire;
use holon_facts::{Config, Millis};

use crate::choices::{Choices, Seeded, Site, pick};
use crate::commands;
use crate::fault::{Dead, Faults};
use crate::places::{Placing, SHARED};
use crate::scenario::{Action, Later, Meddling, Message, Naming, Scenario, Sender, Timed, VERSION};
use crate::story::Story;

/// Draws by name; the ordinal tells repeated questions apart.
struct Draw {
    choices: Seeded,
    agent: u32,
    ordinal: u64,
}

impl Draw {
    fn of<T: Clone>(&mut self, kind: &'static str, among: &[T]) -> T {
        let site = Site::new("scenario", self.agent, self.ordinal, kind);
        pick(&mut self.choices, site, among).unwrap_or_else(|| among[0].clone())
    }

    fn below(&mut self, kind: &'static str, n: u32) -> u32 {
        self.choices.below(Site::new("scenario", self.agent, self.ordinal, kind), n)
    }
}

/// The scenario of a seed.
pub fn scenario(seed: u64) -> Scenario {
    let mut draw = Draw { choices: Seeded(seed), agent: 0, ordinal: 0 };
    let agents = draw.below("agents", 4) + 1;
    let mut config = config_of(&mut draw, agents);
    let mut faults = faults(&mut draw);
    let mut inputs = Vec::new();
    // Now and then all inputs come at one instant, in a drawn order.
    let spans = [1, 2_000_000_u32, 8_000_000, 20_000_000, 60_000_000, 300_000_000, 4_000_000_000];
    let span = if draw.below("at once", 12) == 0 { 1 } else { draw.of("span", &spans[1..]) };
    for agent in 1..=agents {
        draw.agent = agent;
        draw.ordinal = 0;
        let settings = draw.below("initial settings", 16) == 0;
        let at = u64::from(draw.below("created", 1_000));
        inputs.push(Timed { at, agent, action: Action::Create { settings } });
        let count = draw.of("count", &[1, 4, 12, 80]);
        for ordinal in 1..=count {
            draw.ordinal = ordinal;
            let at = 1_000 + u64::from(draw.below("at", span));
            inputs.push(Timed { at, agent, action: action(&mut draw) });
        }
    }
    faults.dead = dead(&mut draw, agents, span);
    draw.agent = 0;
    for ordinal in 0..u64::from(draw.below("disturbances", 4)) {
        draw.ordinal = ordinal;
        let at = u64::from(draw.below("disturbed", span));
        inputs.push(Timed { at, agent: 0, action: disturbance(&mut draw) });
    }
    models(&mut draw, agents, span, &mut inputs);
    compactions(&mut draw, agents, span, &mut inputs);
    if faults.image_calls > 0 {
        config.images = draw.of("reads images", &[&config.models[..], &config.models[..1]]).to_vec();
        prompts_with_images(&mut draw, agents, span, &mut inputs);
    }
    if faults.skills > 0 {
        prompts_with_skills(&mut draw, agents, span, &mut inputs);
    }
    of_tasks(&mut draw, agents, span, &mut inputs);
    of_timers(&mut draw, agents, span, &mut inputs);
    of_work(&mut draw, agents, span, &mut inputs);
    of_hints(&mut draw, agents, span, &mut inputs);
    of_children(&mut draw, agents, span, &mut inputs);
    of_folders(&mut draw, agents, span, &mut inputs);
    pattern::add(&mut draw, agents, span, &mut inputs, &mut faults);
    family::add(&mut draw, agents, span, &mut inputs, &mut faults, &mut config);
    operators::add(&mut draw, agents, span, &mut inputs);
    let later = later(&mut draw, &config, agents);
    let began = beginning(&mut draw);
    let (about, script) = (String::new(), Vec::new());
    let (rings, budget) = (Vec::new(), 40_000);
    Scenario {
        version: VERSION,
        about,
        seed,
        config,
        later,
        began,
        rings,
        agents,
        inputs,
        faults,
        script,
        story: Story::default(),
        budget,
    }
}

/// In a few worlds operators give agents other models, and take them back.
fn models(draw: &mut Draw, agents: u32, span: u32, inputs: &mut Vec<Timed>) {
    draw.ordinal = 0;
    for nth in 0..draw.of("models", &[0, 0, 0, 0, 0, 0, 0, 4]) {
        draw.ordinal = nth;
        let agent = draw.below("whose model", agents) + 1;
        let number = draw.of("which model", &[None, Some(1), Some(2)]);
        let at = u64::from(draw.below("model set", span));
        inputs.push(Timed { at, agent, action: Action::Model { number } });
    }
    draw.ordinal = 0;
}

/// Prompts with images: some fit, some are too many.
fn prompts_with_images(draw: &mut Draw, agents: u32, span: u32, inputs: &mut Vec<Timed>) {
    for ordinal in 0..u64::from(draw.below("prompts with images", 8)) {
        draw.ordinal = ordinal;
        let at = 1_000 + u64::from(draw.below("image at", span));
        let agent = 1 + draw.below("image for", agents);
        let images = draw.of("images", &[1, 1, 2, 3, 10, 11]);
        let priority = draw.of("image now", &[Priority::Next, Priority::Interject]);
        let message = Message { images, priority, ..pattern::prompt() };
        inputs.push(Timed { at, agent, action: Action::Message(message) });
    }
    draw.ordinal = 0;
}

/// Prompts with skills, a few with too many.
fn prompts_with_skills(draw: &mut Draw, agents: u32, span: u32, inputs: &mut Vec<Timed>) {
    for ordinal in 0..u64::from(draw.below("prompts with skills", 6)) {
        draw.ordinal = ordinal;
        let at = 1_000 + u64::from(draw.below("skill at", span));
        let agent = 1 + draw.below("skill for", agents);
        let skills = draw.of("skills along", &[1, 1, 2, 4, 5]);
        let priority = draw.of("skill now", &[Priority::Next, Priority::Interject]);
        let message = Message { skills, priority, ..pattern::prompt() };
        inputs.push(Timed { at, agent, action: Action::Message(message) });
    }
    draw.ordinal = 0;
}

/// In a few worlds operators have conversations compacted.
fn compactions(draw: &mut Draw, agents: u32, span: u32, inputs: &mut Vec<Timed>) {
    draw.ordinal = 0;
    for nth in 0..draw.of("compactions", &[0, 0, 0, 6]) {
        draw.ordinal = nth;
        let agent = draw.below("whose compaction", agents) + 1;
        let at = u64::from(draw.below("compacted", span));
        inputs.push(Timed { at, agent, action: Action::Compact });
    }
    draw.ordinal = 0;
}

/// In some worlds operators run tasks, and handle those of agents.
fn of_tasks(draw: &mut Draw, agents: u32, span: u32, inputs: &mut Vec<Timed>) {
    draw.ordinal = 0;
    for nth in 0..draw.of("operators' tasks", &[0, 0, 3, 12]) {
        draw.ordinal = nth;
        let agent = draw.below("whose task", agents) + 1;
        let task = u64::from(draw.below("which task", 6));
        let action = match draw.below("about a task", 8) {
            0..=3 => Action::RunTask { command: draw.below("command", commands::count()), keyed: None },
            4 | 5 => Action::StopTask { task, force: draw.below("at once", 2) == 0 },
            _ => Action::WriteTask { task, bytes: draw.of("written", &[0, 3, 300, 70_000]) },
        };
        let at = u64::from(draw.below("task asked for", span));
        inputs.push(Timed { at, agent, action });
    }
    draw.ordinal = 0;
}

/// In some worlds operators make timers, and cancel them.
fn of_timers(draw: &mut Draw, agents: u32, span: u32, inputs: &mut Vec<Timed>) {
    draw.ordinal = 0;
    for nth in 0..draw.of("timers", &[0, 0, 0, 2, 8]) {
        draw.ordinal = nth;
        let agent = draw.below("whose timer", agents) + 1;
        let action = if draw.below("about a timer", 5) == 0 {
            Action::CancelTimer { timer: u64::from(draw.below("which timer", 4)) }
        } else {
            Action::CreateTimer {
                seconds: draw.of("timer lasts", &[0, 1, 1, 60, 3_600, 2_592_000]),
                every: draw.of("timer repeats", &[None, None, Some(600), Some(86_400)]),
                misfire: draw.of("misfire", Misfire::ALL),
                summary: draw.of("timer summary", &[0, 0, 20, 200, 201]),
                keyed: None,
            }
        };
        let at = u64::from(draw.below("timer asked for", span));
        inputs.push(Timed { at, agent, action });
    }
    draw.ordinal = 0;
}

/// In some worlds somebody outside sends wake hints, in some all the time; in some there are more sources than are kept
/// apart. Some hints come through the trigger, whose address may change.
fn of_hints(draw: &mut Draw, agents: u32, span: u32, inputs: &mut Vec<Timed>) {
    draw.ordinal = 0;
    let sources = draw.of("sources", &[1, 4, 4, 200]);
    for nth in 0..draw.of("changes of triggers", &[0, 0, 1, 4]) {
        draw.ordinal = nth;
        let agent = draw.below("whose trigger", agents) + 1;
        let revoke = draw.below("revoked", 3) == 0;
        let at = u64::from(draw.below("trigger changed", span));
        inputs.push(Timed { at, agent, action: Action::ChangeTrigger { revoke } });
    }
    for nth in 0..draw.of("hints", &[0, 0, 4, 100]) {
        draw.ordinal = nth;
        let agent = draw.below("whose hint", agents) + 1;
        let source = draw.below("which source", sources);
        let says = draw.below("says something", 2) == 0;
        let wait = u64::from(draw.below("hints for", 4));
        let about = draw.of("hints about", &[0, 0, 1, 2, 3, 20]);
        let about = if about < 20 { about } else { draw.below("which resource", about) };
        let at = u64::from(draw.below("hinted", span));
        let action = match draw.below("through the trigger", 2) {
            0 => Action::Wake { source, says, wait, about },
            _ => Action::Deliver {
                generation: draw.of("generation", &[1, 1, 1, 2, 3]),
                source,
                says: draw.below("says what", 3),
                about,
            },
        };
        inputs.push(Timed { at, agent, action });
    }
    draw.ordinal = 0;
}

/// In a few worlds requests to children bypass their supervisors.
fn of_children(draw: &mut Draw, agents: u32, span: u32, inputs: &mut Vec<Timed>) {
    use Meddling::{Create, Enqueue, Prompt, Start, Stop};
    draw.ordinal = 0;
    for nth in 0..draw.of("meddling", &[0, 0, 0, 6]) {
        draw.ordinal = nth;
        let agent = draw.below("whose child", agents) + 1;
        let task = u64::from(draw.below("which child", 4)) + 1;
        let how = draw.of("how", &[Create, Enqueue, Prompt, Prompt, Start, Start, Stop]);
        // Late enough that some children have ended.
        let at = u64::from(draw.below("meddled", span)) + u64::from(draw.below("meddled later", span));
        inputs.push(Timed { at, agent, action: Action::Meddle { task, how } });
    }
    draw.ordinal = 0;
}

/// In a few worlds operators send agents to shared folders.
fn of_folders(draw: &mut Draw, agents: u32, span: u32, inputs: &mut Vec<Timed>) {
    use Placing::{Attach, Detach, Exit, Prune, Use};
    draw.ordinal = 0;
    for nth in 0..draw.of("placing", &[0, 0, 0, 8]) {
        draw.ordinal = nth;
        let agent = draw.below("who is placed", agents) + 1;
        let folder = draw.below("placed where", SHARED);
        let how = draw.of("placed how", &[Attach, Use, Use, Exit, Detach, Prune]);
        let at = u64::from(draw.below("placed", span));
        inputs.push(Timed { at, agent, action: Action::Place { folder, how } });
    }
    draw.ordinal = 0;
}

/// In some worlds operators make work items, and complete them.
fn of_work(draw: &mut Draw, agents: u32, span: u32, inputs: &mut Vec<Timed>) {
    draw.ordinal = 0;
    for nth in 0..draw.of("operators' work", &[0, 0, 2, 6]) {
        draw.ordinal = nth;
        let agent = draw.below("whose work", agents) + 1;
        let action = match draw.below("about work", 3) {
            0 => Action::CompleteWork { item: u64::from(draw.below("which item", 4)) },
            _ => Action::CreateWork { keyed: None },
        };
        let at = u64::from(draw.below("work asked for", span));
        inputs.push(Timed { at, agent, action });
    }
    draw.ordinal = 0;
}

/// A restart may bring other limits and fewer models.
fn later(draw: &mut Draw, config: &Config, agents: u32) -> Vec<Later> {
    (0..draw.of("later", &[0, 0, 0, 1, 2]))
        .map(|number| {
            draw.ordinal = 100 + number;
            let config = if draw.below("anew", 2) == 0 { config_of(draw, agents) } else { config.clone() };
            Later { config }
        })
        .collect()
}

/// A few worlds begin at an end of the clock's range, or at odd dates.
fn beginning(draw: &mut Draw) -> Option<i64> {
    let ends = [
        0,
        -1,
        i64::MIN,
        i64::MAX,
        i64::MIN + 3_000_000,
        i64::MAX - 3_000_000,
        2_147_483_646_000_000,
        253_402_300_798_000_000,
        951_782_398_000_000,
    ];
    draw.ordinal = 0;
    (draw.below("beginning", 16) == 0).then(|| draw.of("began", &ends))
}

/// In a few worlds the performers of one agent die for ever.
fn dead(draw: &mut Draw, agents: u32, span: u32) -> Vec<Dead> {
    draw.ordinal = 0;
    let dies = |agent: &u32| {
        draw.agent = *agent;
        draw.below("dies", 6) == 0
    };
    let dying: Vec<u32> = (1..=agents).filter(dies).collect();
    dying
        .into_iter()
        .map(|agent| {
            draw.agent = agent;
            let tools_only = draw.below("tools only", 2) == 0;
            Dead { agent, since: u64::from(draw.below("dead since", span)), tools_only }
        })
        .collect()
}

fn action(draw: &mut Draw) -> Action {
    match draw.below("action", 20) {
        0..=2 => Action::Start,
        3 => Action::Stop,
        4 => Action::Abort { run: None, stop: false },
        5 => Action::Abort { run: Some(u64::from(draw.below("run", 5))), stop: draw.below("stop", 2) == 0 },
        6 => Action::Tick,
        _ => Action::Message(message(draw)),
    }
}

fn message(draw: &mut Draw) -> Message {
    use Sender as From;
    let senders = [
        From::Operator,
        From::Operator,
        From::Operator,
        From::Channel,
        From::Webhook,
        From::Callback,
        From::SystemTick,
        From::TaskResult,
        From::BriefAck,
        From::Impostor,
    ];
    let rare =
        [From::Timer, From::Followup, From::TaskStatus, From::BriefResult, From::Control, From::LongName];
    let common = draw.below("common sender", 10) > 0;
    let sender = if common { draw.of("sender", &senders) } else { draw.of("rare sender", &rare) };
    let drawn = draw.of("priority", Priority::ALL);
    let presumes = drawn == Priority::Interject && sender != From::Operator && draw.below("presumes", 6) > 0;
    let wait = u64::from(draw.below("which wait", 3)) + 1;
    let naming = Naming { wait, token: draw.below("by its token", 2) == 0 };
    Message {
        text: None,
        deposit: None,
        names: (draw.below("names a wait", 4) == 0).then_some(naming),
        sender,
        priority: if presumes { Priority::Next } else { drawn },
        bytes: draw.of("bytes", &[0, 10, 100, 256, 400, 3_000]),
        key: draw.of("key", &[None, None, Some(1), Some(2), Some(3), Some(4)]),
        payload: u8::from(draw.below("payload", 4) == 0),
        images: 0,
        skills: 0,
        refs: draw.of("refs", &[0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 16, 17]),
    }
}

fn disturbance(draw: &mut Draw) -> Action {
    let minute = 60_000_000_i64;
    let jumps = [
        -1_500_000,
        1_500_000,
        -10 * minute,
        10 * minute,
        -120 * minute,
        120 * minute,
        -525_600 * minute,
        1_000 * 525_600 * minute,
    ];
    match draw.below("disturbance", 5) {
        0 => Action::Restart,
        1 => Action::Tick,
        2 => Action::Kill { again: draw.of("again", &[0, 0, 1, 3]) },
        3 => Action::Suspend { micros: draw.of("asleep", &[1_000, 3_000_000, 600_000_000, 90_000_000_000]) },
        _ => Action::ClockJump { micros: draw.of("jump", &jumps) },
    }
}

fn faults(draw: &mut Draw) -> Faults {
    let rates = [0, 0, 30, 300];
    let crashes = draw.of("crashes", &[0, 1, 2, 3, 4]);
    let reach = draw.of("reach", &[40_u32, 200, 800]);
    let mut at: u64 = 0;
    let mut boundaries = Vec::new();
    for ordinal in 0..crashes {
        draw.ordinal = ordinal;
        // The next crash often comes soon: inside the recovery from this one.
        let near = if ordinal > 0 && draw.below("soon", 2) == 0 { 6 } else { reach };
        at += 1 + u64::from(draw.below("crash", near));
        boundaries.push(at);
    }
    draw.ordinal = 0;
    Faults {
        provider_fails: draw.of("provider_fails", &[0, 100, 400, 950]),
        provider_away: draw.of("provider_away", &[0, 900]),
        provider_silent: draw.of("provider_silent", &rates),
        provider_slow: draw.of("provider_slow", &rates),
        provider_odd: draw.of("provider_odd", &[0, 100, 700]),
        tool_fails: draw.of("tool_fails", &rates),
        tool_silent: draw.of("tool_silent", &rates),
        supervisor_fails: draw.of("supervisor_fails", &rates),
        supervisor_lost: draw.of("supervisor_lost", &[0, 300, 700]),
        supervisor_stranger: draw.of("supervisor_stranger", &[0, 300, 0]),
        commands_last: draw.of("commands_last", &[0, 300, 800]),
        task_calls: draw.of("task_calls", &[0, 0, 100, 300]),
        child_calls: draw.of("child_calls", &[0, 0, 0, 60, 200]),
        folder_calls: draw.of("folder_calls", &[0, 0, 0, 80, 250]),
        image_calls: draw.of("image_calls", &[0, 0, 0, 0, 0, 300, 800]),
        skills: draw.of("skills", &[0, 0, 0, 0, 400, 900]),
        logins: draw.of("logins soon", &[0, 500, 1_000]),
        // Servers have worlds of their own: sim/tests/worlds/servers.rs.
        server_calls: 0,
        supervisor_killed: draw.of("supervisor_killed", &[0, 0, 100]),
        stop_ignored: draw.of("stop_ignored", &[0, 0, 500]),
        task_fails: draw.of("task_fails", &rates),
        task_silent: draw.of("task_silent", &[0, 0, 0, 100]),
        outcome_twice: draw.of("outcome_twice", &rates),
        outcome_late: draw.of("outcome_late", &[0, 500]),
        outcome_odd: draw.of("outcome_odd", &[0, 0, 0, 50]),
        context_fails: draw.of("context_fails", &rates),
        sync: draw.of("sync", &[0, 0, 1_000, 700_000]),
        sync_fails: draw.of("sync_fails", &[0, 0, 0, 0, 0, 0, 8, 40]),
        sync_sticks: draw.of("sync_sticks", &[0, 0, 0, 0, 0, 4, 30]),
        sync_lies: draw.of("sync_lies", &[0, 0, 0, 0, 0, 0, 300, 1_000]),
        ahead: draw.of("ahead", &[0, 0, 1, 4]),
        torn: draw.of("torn", &[0, 600]),
        damaged: draw.of("damaged", &[0, 0, 500]),
        snapshot_damaged: draw.of("snapshot_damaged", &[0, 0, 500]),
        child_damaged: 0,
        reads_away: draw.of("reads_away", &[0, 500, 800]),
        timer_odd: draw.of("timer_odd", &rates),
        ack_lost: draw.of("ack_lost", &rates),
        request_twice: draw.of("request_twice", &rates),
        spells: Vec::new(),
        crashes: boundaries,
        parks: draw.of("parks", &[0, 0, 200, 1_000]),
        dead: Vec::new(),
        strikes: None,
    }
}

fn config_of(draw: &mut Draw, agents: u32) -> Config {
    let models: Vec<ModelRef> = ["a/one", "b/two", "a/three"]
        .iter()
        .take(draw.below("models", 3) as usize + 1)
        .filter_map(|name| name.parse::<ModelRef>().ok())
        .collect();
    let mut config = Config::new(models);
    config.queue = queue(draw);
    config.turn = turn(draw);
    config.context = ContextLimits {
        window_tokens: draw.of("window", &[8_192, 14_000, 128_000]),
        windows: Vec::new(),
        known: Vec::new(),
        of_providers: std::collections::BTreeMap::new(),
        compact_at: Share(draw.of("compact_at", &[100, 700, 1_000])),
        episode_idle: Millis(draw.of("episode_idle", &[0, 60_000, 3_600_000])),
        summary: draw.of("summary", &[SummaryBy::Facts, SummaryBy::Model]),
    };
    config.retry = RetryPolicy {
        retries: draw.below("retries", 3),
        backoff: Millis(draw.of("backoff", &[0, 1, 200])),
        retry_after_max: Millis(draw.of("retry_after_max", &[0, 1_000, 60_000])),
        patience: Millis(draw.of("patience", &[0, 5_000, 120_000])),
    };
    let steps: &[&[u64]] = &[&[1], &[10, 50], &[30_000, 120_000, 600_000]];
    config.hold = HoldPolicy {
        on_outage: draw.below("on_outage", 4) > 0,
        steps: draw.of("hold_steps", steps).iter().copied().map(Millis).collect(),
        give_up: Millis(draw.of("give_up", &[1_000, 3_600_000, 86_400_000])),
    };
    let spared = u64::from(draw.below("too_many", 8) == 0);
    config.limits = HostLimits {
        agents: u64::from(agents).saturating_sub(spared).max(1)
            + draw.of("children in all", &[0, 2, 100, 100]),
        concurrent_turns: draw.of("slots", &[1, 1, 2, 64]),
        decisions_per_step: draw.of("decisions", &[1, 2, 32]),
        deadlines_per_step: draw.of("deadlines", &[1, 2, 256]),
    };
    config.tasks = tasks(draw);
    config.children = ChildLimits {
        depth: draw.of("child depth", &[3, 3, 1, 0]),
        per_agent: draw.of("children per agent", &[8, 8, 2, 1]),
    };
    config.budgets = budgets(draw);
    let of_all = (config.budgets.runtime, config.budgets.runtime_day) != Default::default();
    config.shares_budgets = of_all && draw.below("shares budgets", 3) == 0;
    config.lent_turns = (draw.below("turns lent", 5) == 0).then_some(0);
    config.prices = prices(&config.models);
    config.unattended.turns_per_day = draw.of("turns_per_day", &[2_000, 2_000, 5, 20]);
    config.unattended.outside_turns_per_day = draw.of("outside_turns", &[2_000, 2_000, 2_000, 4, 20]);
    config.unattended.source_turns_per_day = draw.of("source_turns", &[1_000, 1_000, 1_000, 3, 10]);
    config.unattended.source_events_per_minute = draw.of("source_events", &[600, 600, 600, 2]);
    config.while_stopped = draw.of("while_stopped", &[WhileStopped::Queue, WhileStopped::Refuse]);
    config
}

/// In some worlds a budget or two is too small: for a request, for a day, or in total.
fn budgets(draw: &mut Draw) -> Budgets {
    let mut budgets = Budgets::default();
    for nth in 0..draw.of("budgets", &[0, 0, 0, 0, 1, 2]) {
        draw.ordinal = nth;
        let bounds = match draw.below("budget", 7) {
            6 => &mut budgets.subtree,
            0 | 1 => &mut budgets.turn,
            2 => &mut budgets.agent,
            3 => &mut budgets.agent_day,
            4 => &mut budgets.runtime,
            _ => &mut budgets.runtime_day,
        };
        if draw.below("of money", 3) == 0 {
            bounds.cost_micros = Some(Cost(draw.of("cost", &[0, 40_000, 400_000])));
        } else {
            bounds.tokens = Some(draw.of("tokens", &[10, 9_000, 60_000, 300_000]));
        }
    }
    draw.ordinal = 0;
    budgets
}

/// The first model is expensive, the others cost less.
fn prices(models: &[ModelRef]) -> Prices {
    let price = |(nth, model): (usize, &ModelRef)| {
        let input = Cost(3_000_000 / (nth as u64 + 1));
        let price = Price { input, cached_input: Cost(input.0 / 10), output: Cost(input.0 * 5) };
        ModelPrice { model: model.clone(), price }
    };
    Prices(models.iter().enumerate().map(price).collect())
}

fn queue(draw: &mut Draw) -> QueueLimits {
    let entries = draw.of("entries", &[1, 2, 3, 8, 10_000]);
    let bytes = draw.of("queue_bytes", &[300, 4_000, 64 << 20]);
    QueueLimits {
        entries,
        bytes,
        reserved_entries: if draw.below("reserved", 2) == 0 { entries / 2 } else { 0 },
        reserved_bytes: draw.of("reserved_bytes", &[0, bytes / 4]),
        body_bytes: draw.of("body_bytes", &[300, 1 << 20]),
        keys: draw.of("keys", &[0, 1, 2, 10_000]),
        keys_for: Millis(draw.of("keys_for", &[0, 1_000, 60_000, 86_400_000])),
        crashes: draw.below("poison", 3) + 1,
    }
}

fn tasks(draw: &mut Draw) -> TaskLimits {
    TaskLimits {
        per_agent: draw.of("tasks_per_agent", &[1, 4, 32, 32]),
        running: draw.of("tasks", &[1, 6, 256, 256]),
        stop_grace: Millis(draw.of("stop_grace", &[0, 5_000])),
        result_tokens: 2_000,
    }
}

fn turn(draw: &mut Draw) -> TurnLimits {
    let repeats_end = draw.of("repeats_end", &[2, 3, 25]);
    TurnLimits {
        rounds: draw.of("rounds", &[1, 2, 3, 50]),
        wall_time: Millis(draw.of("wall_time", &[1_500, 60_000, 21_600_000])),
        calls_per_round: draw.of("calls_per_round", &[1, 2, 128]),
        max_output_tokens: draw.of("max_output_tokens", &[64, 16_384]),
        model_timeout: Millis(draw.of("model_timeout", &[1_000, 900_000])),
        tool_timeout: Millis(draw.of("tool_timeout", &[1_000, 600_000])),
        repeats_remind: draw.below("repeats_remind", 4),
        repeats_end,
        continuations: draw.of("continuations", &[3, 0, 1]),
    }
}
