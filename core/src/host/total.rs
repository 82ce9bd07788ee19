//! The core is total: no sequence of inputs, however absurd, makes it panic, break a law or lose itself.

mod tight;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::config::Config;
use holon_facts::content::{Content, ContentId, Text};
use holon_facts::event::operation::OpKind;
use holon_facts::hint::Hint;
use holon_facts::identity::InitialSettings;
use holon_facts::ids::{AgentId, DepositId, OpId, ReplyId, RunId, TaskId, TimerId, WaitId, WorkItemId};
use holon_facts::label::{Description, LabelChange};
use holon_facts::message::{Idempotency, Ingress, Origin};
use holon_facts::model::{AnswerBlock, AttemptFailure, FailureKind, ProposedCall, StopReason, Timing};
use holon_facts::model_ref::ModelRef;
use holon_facts::outcome::{Certainty, CommandEnd, OpFailure, Outcome, Removal};
use holon_facts::provenance::{MessageKind, Priority};
use holon_facts::receipt::{InputReceipt, InputTarget};
use holon_facts::time::{Millis, Mono, Wall};
use holon_facts::timer::{Misfire, TimerSpec};
use holon_facts::trigger::{Delivery, DeliveryMode, TriggerChange};
use holon_facts::work::{NewWorkItem, PlanStatus};
use holon_facts::workspace::{ExecutionBinding, WorkspaceChange};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tight::{grant, tight};

use crate::grants::Grant;
use crate::input::{ControlRequest, Input};
use crate::recovery::Found;
use crate::testing::{
    World, agent, answer, answers, calls, command_ends, context, context_offering, context_with,
    context_with_notes, fails, given, ingress, long, looked, prepared, skill, tool_answers, tool_gives, uses,
};

/// Something that happens to a world.
#[derive(Debug, Clone)]
enum Act {
    Create(&'static str, Box<InitialSettings>),
    Send(&'static str, Ingress),
    Control(&'static str, ControlRequest),
    /// The open operation of that number ends, in a way that may not fit it.
    End(usize, Outcome),
    /// The open operation of that number ends as it should.
    Fit(usize),
    Stray(&'static str, u64, Outcome),
    Pass(u64),
    ToDeadline,
    Clocks(u64, i64),
    /// A turn reads so much that its next request is refused as too long.
    ReadMuch(&'static str),
    RunTask(&'static str),
    StopTask(&'static str, u64, bool),
    WriteTask(&'static str, u64),
    CreateTimer(&'static str, TimerSpec),
    CancelTimer(&'static str, u64),
    Rename(&'static str, &'static str),
    CreateWorkItem(&'static str),
    CompleteWorkItem(&'static str, u64),
    Wake(&'static str, Hint),
    Deliver(&'static str, Delivery),
    ChangeTrigger(&'static str, TriggerChange),
    ChangeWorkspace(&'static str, WorkspaceChange),
    LoginChanged,
    Granted(Grant),
    TurnsLent(u64),
    Drain,
    Crash,
    /// A crash that the supervisors of commands survive.
    CrashFinding(Found),
    Restart(Box<Config>),
    Park(&'static str),
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        6 => Just("main"),
        3 => Just("other"),
        1 => select(vec!["nobody", "new", "main--1", "main--2", "main--1--1", "other--1"]),
    ]
}

fn message() -> impl Strategy<Value = Ingress> {
    let kind = prop_oneof![
        4 => Just(MessageKind::OperatorPrompt),
        1 => select(MessageKind::ALL.to_vec()),
    ];
    let key = prop::option::weighted(0.3, (0..3_u8, 0..2_u8));
    (kind, select(Priority::ALL.to_vec()), "[a-z]{0,20}", key, 0..20_u8).prop_map(
        |(kind, priority, text, key, odd)| {
            let mut sent = ingress(kind, priority, &text);
            if odd == 0 {
                sent.origin = Origin::Task { task_id: text };
            } else if odd == 1 {
                sent.body.text = stored(u64::MAX);
            } else if odd < 5 {
                sent.skills.push(given(&skill("csv", 1)));
            }
            sent.idempotency = key.map(|(key, payload)| Idempotency {
                key: alloc::format!("k{key}"),
                payload: ContentId([payload; 32]),
            });
            sent
        },
    )
}

fn stored(bytes: u64) -> Text {
    Text::Stored(Content { id: ContentId([9; 32]), bytes, est_tokens: bytes, preview: String::new() })
}

fn request() -> impl Strategy<Value = ControlRequest> {
    prop_oneof![
        Just(ControlRequest::Start),
        Just(ControlRequest::Stop),
        Just(ControlRequest::Archive),
        (prop::option::of(0..5_u64), any::<bool>()).prop_map(|(run, stop_after_abort)| {
            ControlRequest::Abort { run_id: run.map(RunId), stop_after_abort }
        }),
    ]
}

fn block() -> impl Strategy<Value = AnswerBlock> {
    let task = |tool: &'static str, rest: &str| {
        (1..5_u64, Just(String::from(rest)))
            .prop_map(move |(task, rest)| (tool, alloc::format!(r#"{{"task_id":"task_{task}"{rest}}}"#)))
    };
    let item = |tool: &'static str, rest: &str| {
        (1..4_u64, Just(String::from(rest)))
            .prop_map(move |(item, rest)| (tool, alloc::format!(r#"{{"work_item_id":"work_{item}"{rest}}}"#)))
    };
    let plain = (
        select(vec!["ExecCommand", "ApplyPatch", "TaskList", "TaskStop", "Levitate", ""]),
        select(vec![r#"{"cmd":"ls"}"#, r#"{"patch":"x"}"#, "{}", "[", ""]).prop_map(String::from),
    );
    let asked = prop_oneof![
        4 => plain,
        1 => task("TaskStatus", ""),
        2 => task("TaskOutput", r#","timeout_ms":5000"#),
        1 => task("TaskOutput", r#","block":false"#),
        1 => task("TaskInput", r#","input":"y""#),
        1 => task("TaskStop", ""),
        1 => task("TaskStop", r#","force":true"#),
        2 => Just(("CreateWorkItem", String::from(r#"{"objective":"go"}"#))),
        1 => item("PickWorkItem", ""),
        1 => item("UpdateWorkItem", r#","blocked_by":"rain""#),
        1 => item("UpdateWorkItem", r#","blocked_by":"","recheck_after_ms":60000"#),
        1 => item("CompleteWorkItem", ""),
        1 => Just(("ListWorkItems", String::from("{}"))),
        1 => Just(("Enqueue", String::from(r#"{"text":"look again"}"#))),
        6 => Just(("Sleep", String::from(r#"{"duration_ms":1000}"#))),
        4 => waits().prop_map(|arguments| ("WaitFor", String::from(arguments))),
        1 => select(vec!["{}", r#"{"agent_id":"main--1"}"#]).prop_map(|it| ("AgentGet", String::from(it))),
        2 => select(vec![
            r#"{"initial_message":"go"}"#,
            r#"{"initial_message":"look"}"#,
            r#"{"preset":"public_named","agent_id":"new","initial_message":"go"}"#,
        ])
        .prop_map(|it| ("SpawnAgent", String::from(it))),
        1 => select(vec![r#"{"path":"/x"}"#, r#"{"workspace_id":"agent_home"}"#, r#"{"workspace_id":"x"}"#])
            .prop_map(|it| ("UseWorkspace", String::from(it))),
        1 => Just(("NotifyOperator", String::from(r#"{"message":"look here"}"#))),
    ];
    let id = select(vec!["", "c1", "c2", "call_1_0_2", "call_2_0_2", "call_1_1_2"]);
    prop_oneof![
        1 => "[a-z]{0,5}".prop_map(|text| AnswerBlock::Text { text: Text::short(text) }),
        1 => any::<bool>().prop_map(|large| AnswerBlock::Reasoning {
            content: if large { stored(1 << 40) } else { Text::default() },
        }),
        3 => (id, asked, any::<bool>()).prop_map(|(id, (tool, arguments), large)| {
            AnswerBlock::ToolCall(ProposedCall {
                call_id: id.into(),
                tool_name: tool.into(),
                arguments: if large { stored(1 << 40) } else { Text::short(&arguments) },
                inline: None,
            })
        }),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let failure = (select(FailureKind::ALL.to_vec()), any::<Option<u64>>(), any::<Option<i64>>()).prop_map(
        |(kind, asked, resets)| Outcome::AttemptFailed {
            failure: AttemptFailure {
                kind,
                message: Text::short("no"),
                retry_after_ms: asked.map(Millis),
                resets_at: resets.map(Wall),
                usage: None,
                timing: Timing { started_at: Wall(i64::MAX), ..Timing::default() },
                diagnostics: None,
                delivery: None,
            },
        },
    );
    let stop = select(StopReason::ALL.to_vec());
    let blocks = prop::collection::vec(block(), 0..5);
    prop_oneof![
        2 => Just(context()),
        2 => Just(prepared()),
        4 => (blocks, stop).prop_map(|(blocks, stop)| answer(blocks, stop)),
        2 => Just(answers("done")),
        2 => failure,
        2 => Just(fails(FailureKind::Server)),
        1 => Just(fails(FailureKind::ContextLength)),
        2 => "[ab]".prop_map(|text| tool_answers(&text)),
        2 => (select(CommandEnd::ALL.to_vec()), 0..2_i32).prop_map(|(end, status)| command_ends(end, Some(status))),
        1 => Just(wrote()),
        1 => place().prop_map(Outcome::found),
        1 => (100..2_400_u64).prop_map(|tokens| tool_gives(long(tokens, tokens))),
        1 => any::<bool>().prop_map(|sure| Outcome::Failed {
            failure: OpFailure {
                certainty: if sure { Certainty::Definite } else { Certainty::Ambiguous },
                message: Text::short("broken"),
            },
        }),
    ]
}

fn hint() -> impl Strategy<Value = Hint> {
    (select(vec!["ci", "mail", "x", ""]), prop::option::of(1..4_u64), any::<bool>()).prop_map(
        |(source, wait, says)| Hint {
            wait_id: wait.map(WaitId),
            body: says.then(|| Text::short("passed")),
            ..Hint::new(source, "it moved")
        },
    )
}

fn delivery() -> impl Strategy<Value = Delivery> {
    (1..3_u64, select(DeliveryMode::ALL.to_vec()), hint())
        .prop_map(|(generation, delivery_mode, hint)| Delivery { generation, delivery_mode, hint })
}

/// What was kept before; each is given once.
fn deliver(world: &mut World, name: &str, mut delivery: Delivery) {
    delivery.hint.deposit = Some(DepositId(world.log.len() as u64 + 1));
    ask(world, |reply| Input::Deliver { agent: agent(name), delivery, reply });
}

/// A folder, as a performer finds it.
fn place() -> impl Strategy<Value = ExecutionBinding> {
    select(vec![
        ExecutionBinding::project("/w", "/w"),
        ExecutionBinding::project("/x", "/x/src"),
        ExecutionBinding::agent_home("/agents/main"),
    ])
}

fn workspace_change() -> impl Strategy<Value = WorkspaceChange> {
    prop_oneof![
        place().prop_map(|execution| WorkspaceChange::Attach { execution }),
        place().prop_map(|execution| WorkspaceChange::Use { execution }),
        place().prop_map(|place| WorkspaceChange::Detach { workspace_id: place.workspace_id() }),
    ]
}

/// The arguments of a wait.
fn waits() -> impl Strategy<Value = &'static str> {
    select(vec![
        r#"{"reason":"x","wake":"operator_input"}"#,
        r#"{"reason":"x","wake":"external"}"#,
        r#"{"reason":"x","wake":"external","resource":"ci","work_item_id":"work_2"}"#,
        r#"{"reason":"x","wake":"task_result","resource":"task_1"}"#,
        r#"{"reason":"x","wake":"task_result","resource":"task_2"}"#,
        r#"{"reason":"x","wake":"timer","resource":"1s"}"#,
        r#"{"reason":"x","wake":"timer","resource":"1s","work_item_id":"work_1"}"#,
    ])
}

fn settings() -> impl Strategy<Value = InitialSettings> {
    let model = select(vec![None, None, ModelRef::new("local/two").ok()]);
    let description = select(vec![None, None, Description::new("works").ok()]);
    (model, description).prop_map(|(model, description)| InitialSettings { model, description })
}

fn act() -> impl Strategy<Value = Act> {
    let wall = prop_oneof![
        4 => 1_600_000_000_000_000..1_800_000_000_000_000_i64,
        1 => any::<i64>(),
    ];
    prop_oneof![
        1 => (name(), settings()).prop_map(|(name, settings)| Act::Create(name, Box::new(settings))),
        12 => (name(), message()).prop_map(|(name, message)| Act::Send(name, message)),
        3 => (name(), request()).prop_map(|(name, request)| Act::Control(name, request)),
        14 => (0..3_usize, outcome()).prop_map(|(at, outcome)| Act::End(at, outcome)),
        14 => (0..5_usize).prop_map(Act::Fit),
        2 => (0..3_usize).prop_map(|at| Act::End(at, calls(&[("", "Sleep", r#"{"duration_ms":1000}"#)]))),
        3 => (0..5_usize, 1..3_usize).prop_map(|(at, count)| {
            let child = ("", "SpawnAgent", r#"{"initial_message":"go"}"#);
            Act::End(at, calls(&vec![child; count]))
        }),
        3 => (0..5_usize).prop_map(|at| Act::End(at, answers("done"))),
        2 => name().prop_map(Act::Park),
        6 => (0..3_usize, waits()).prop_map(|(at, wait)| Act::End(at, calls(&[("", "WaitFor", wait)]))),
        2 => (name(), any::<u64>(), outcome()).prop_map(|(name, op, outcome)| Act::Stray(name, op, outcome)),
        6 => (0..100_000_u64).prop_map(Act::Pass),
        6 => Just(Act::ToDeadline),
        2 => (any::<u64>(), wall).prop_map(|(mono, wall)| Act::Clocks(mono, wall)),
        3 => name().prop_map(Act::RunTask),
        1 => name().prop_map(Act::ReadMuch),
        3 => (name(), 0..6_u64, any::<bool>()).prop_map(|(name, task, force)| Act::StopTask(name, task, force)),
        2 => (name(), 0..6_u64).prop_map(|(name, task)| Act::WriteTask(name, task)),
        2 => (name(), timer()).prop_map(|(name, timer)| Act::CreateTimer(name, timer)),
        1 => (name(), 0..4_u64).prop_map(|(name, timer)| Act::CancelTimer(name, timer)),
        1 => (name(), select(vec!["new", "boss", "other"])).prop_map(|(name, to)| Act::Rename(name, to)),
        2 => name().prop_map(Act::CreateWorkItem),
        1 => (name(), 0..4_u64).prop_map(|(name, item)| Act::CompleteWorkItem(name, item)),
        2 => (name(), hint()).prop_map(|(name, hint)| Act::Wake(name, hint)),
        2 => (name(), delivery()).prop_map(|(name, delivery)| Act::Deliver(name, delivery)),
        1 => (name(), select(vec![TriggerChange::Rotate, TriggerChange::Revoke]))
            .prop_map(|(name, change)| Act::ChangeTrigger(name, change)),
        2 => (name(), workspace_change()).prop_map(|(name, change)| Act::ChangeWorkspace(name, change)),
        3 => (0..3_usize, any::<bool>()).prop_map(|(at, isolated)| {
            let goes = if isolated { r#"{"path":"/x","mode":"isolated"}"# } else { r#"{"path":"/x"}"# };
            Act::End(at, calls(&[("", "UseWorkspace", goes)]))
        }),
        4 => select(vec![Act::LoginChanged, Act::Drain, Act::Crash, Act::Crash]),
        2 => found().prop_map(Act::CrashFinding),
        2 => grant().prop_map(Act::Granted),
        1 => (0..4_u64).prop_map(Act::TurnsLent),
        1 => tight().prop_map(|config| Act::Restart(config.into())),
    ]
}

fn timer() -> impl Strategy<Value = TimerSpec> {
    let length = || prop_oneof![4 => 1_000..60_000_u64, 1 => any::<u64>()].prop_map(Millis);
    (length(), prop::option::of(length()), select(Misfire::ALL.to_vec())).prop_map(
        |(duration_ms, interval_ms, misfire)| TimerSpec { duration_ms, interval_ms, misfire, summary: None },
    )
}

fn found() -> impl Strategy<Value = Found> {
    let Outcome::Tool { outcome } = tool_answers("while you were away") else { panic!() };
    let ended = Found::Ended { outcome: outcome.into() };
    prop_oneof![
        3 => Just(ended),
        3 => Just(Found::Running),
        1 => Just(Found::NotStarted),
        1 => Just(Found::Lost),
    ]
}

/// Some text has reached a command.
fn wrote() -> Outcome {
    let Outcome::Tool { mut outcome } = tool_answers("written") else { panic!() };
    let (input_target, problem) = (Some(InputTarget::Stdin), None);
    outcome.receipt.facts.input =
        Some(InputReceipt { accepted_input: true, input_target, bytes_written: 1, problem });
    Outcome::Tool { outcome }
}

/// Skills and tools come, change and go; commands read skills, and run what they have. Some turns look at what they remember.
fn skilled(kind: OpKind, at: usize) -> Outcome {
    match (kind, at % 5) {
        (OpKind::LoadContext, 0) => context_with(&[skill("csv", 1)]),
        (OpKind::LoadContext, 1 | 2) => context_with(&[skill("csv", 1), skill("pdf", 1)]),
        (OpKind::LoadContext, 3) => context_offering(&["files__list", "files__read"]),
        (OpKind::LoadContext, 4) => context_with_notes(),
        (OpKind::CallModel, 2 | 3) => calls(&[("c1", "files__read", r#"{"path":"a"}"#)]),
        (OpKind::CallModel, 4) => calls(&[("c1", "MemorySearch", r#"{"query":"it"}"#)]),
        (OpKind::CallModel, 1) => calls(&[("c1", "TaskList", "{}"), ("c2", "AgentGet", "{}")]),
        (OpKind::CallTool, 1) => looked(["tasks", "me"]),
        (OpKind::RunCommand, 1 | 2) => uses(&["/skills/csv/SKILL.md", "/skills/pdf/scripts/fill.py"]),
        _ => fitting(kind),
    }
}

fn fitting(kind: OpKind) -> Outcome {
    match kind {
        OpKind::LoadContext => context(),
        OpKind::CallModel => calls(&[("c1", "ExecCommand", r#"{"cmd":"ls"}"#)]),
        OpKind::CallTool
        | OpKind::RunCommand
        | OpKind::PromoteCommand
        | OpKind::WriteInput
        | OpKind::AwaitTask
        | OpKind::SuperviseChild => tool_gives(long(1, 2_200)),
        OpKind::FindWorkspace => {
            let execution = ExecutionBinding::project("/worktrees/main/1", "/worktrees/main/1");
            Outcome::Workspace { execution, base: Some("c0ffee".into()) }
        }
        OpKind::RemoveWorktree => Outcome::Worktree { removal: Removal::Removed },
        OpKind::Summarize => answers("Goal: go on"),
        OpKind::PrepareCommand => prepared(),
    }
}

fn ask(world: &mut World, input: impl FnOnce(ReplyId) -> Input) {
    drop(world.ask(input));
}

impl Act {
    fn happen(self, world: &mut World) {
        match self {
            Self::Create(name, settings) => drop(world.create_with(name, *settings)),
            Self::Send(name, ingress) => drop(world.send(name, ingress)),
            Self::Control(name, request) => drop(world.control(name, request)),
            Self::End(at, outcome) => end(world, at, |_| outcome),
            Self::Fit(at) => end(world, at, |kind| skilled(kind, at)),
            Self::Stray(name, op, outcome) => {
                let awaited = (agent(name), OpId(op));
                if !world.open.contains_key(&awaited) {
                    world.step(Input::Completed { agent: awaited.0, op: awaited.1, outcome });
                }
            }
            Self::Pass(ms) => world.pass(Millis(ms)),
            Self::ToDeadline => drop(world.pass_to_deadline()),
            Self::Clocks(mono, wall) => {
                (world.now.mono, world.now.wall) = (Mono(mono), Wall(wall));
                world.step(Input::Tick);
            }
            Self::ReadMuch(name) => read_much(world, name),
            Self::RunTask(name) => {
                let arguments = Text::short(r#"{"cmd":"make"}"#);
                world.later(|reply| Input::RunTask { agent: agent(name), arguments, key: None, reply });
            }
            Self::StopTask(name, task, force) => {
                ask(world, |reply| Input::StopTask { agent: agent(name), task: TaskId(task), force, reply });
            }
            Self::WriteTask(name, task) => {
                let (agent, task, text) = (agent(name), TaskId(task), Text::short("y"));
                world.later(|reply| Input::WriteTask { agent, task, text, reply });
            }
            Self::CreateTimer(name, timer) => {
                ask(world, |reply| Input::CreateTimer { agent: agent(name), timer, key: None, reply });
            }
            Self::CancelTimer(name, timer) => {
                let timer = TimerId(timer);
                ask(world, |reply| Input::CancelTimer { agent: agent(name), timer, reply });
            }
            Self::Rename(name, to) => {
                let change = LabelChange::Rename { name: Some(agent(to)) };
                ask(world, |reply| Input::Label { agent: agent(name), change, reply });
            }
            Self::CreateWorkItem(name) => create_work_item(world, name),
            Self::Wake(name, hint) => ask(world, |reply| Input::Wake { agent: agent(name), hint, reply }),
            Self::Deliver(name, delivery) => deliver(world, name, delivery),
            Self::ChangeTrigger(name, change) => {
                ask(world, |reply| Input::ChangeTrigger { agent: agent(name), change, reply })
            }
            Self::ChangeWorkspace(name, change) => {
                ask(world, |reply| Input::ChangeWorkspace { agent: agent(name), change, reply })
            }
            Self::CompleteWorkItem(name, item) => {
                let item = WorkItemId(item);
                ask(world, |reply| Input::CompleteWorkItem { agent: agent(name), item, reply });
            }
            Self::LoginChanged => world.step(Input::LoginChanged { provider: "local".into() }),
            Self::Granted(grant) => world.step(Input::Granted { grant }),
            Self::TurnsLent(turns) => world.step(Input::TurnsLent { turns }),
            Self::Drain => drop(world.drain()),
            Self::Crash => {
                world.found.clear();
                world.crash();
            }
            Self::CrashFinding(found) => {
                world.found = ["main", "other"].map(|name| (agent(name), found.clone())).into();
                world.crash();
            }
            Self::Restart(config) => world.restart(*config),
            Self::Park(name) => world.evict_if_idle(name),
        }
    }
}

fn create_work_item(world: &mut World, name: &str) {
    let (objective, plan_status) = ("go".into(), PlanStatus::Draft);
    let item = NewWorkItem { objective, plan_status, todo_list: Vec::new(), plan: false };
    ask(world, |reply| Input::CreateWorkItem { agent: agent(name), item, key: None, reply });
}

fn end(world: &mut World, at: usize, outcome: impl FnOnce(OpKind) -> Outcome) {
    let open: Vec<(AgentId, OpId)> = world.open.keys().cloned().collect();
    let Some((agent, op)) = open.get(at % open.len().max(1)).cloned() else { return };
    let Some(kind) = world.open.remove(&(agent.clone(), op)) else { return };
    world.step(Input::Completed { agent, op, outcome: outcome(kind) });
}

fn read_much(world: &mut World, name: &'static str) {
    drop(world.send(name, crate::testing::prompt("read it all")));
    for number in 0..12 {
        let open = world
            .open
            .iter()
            .find(|((agent, _), kind)| agent.as_str() == name && **kind != OpKind::Summarize);
        let Some((open, kind)) = open.map(|(open, kind)| (open.clone(), *kind)) else { return };
        let rounds = world.agent(name).run.as_ref().map_or(0, |run| run.conversation.rounds.len());
        let outcome = if kind == OpKind::CallModel && rounds > 2 {
            fails(FailureKind::ContextLength)
        } else if kind == OpKind::CallModel {
            calls(&[("", "ApplyPatch", r#"{"patch":"x"}"#)])
        } else if kind == OpKind::CallTool {
            tool_gives(long(number, 4_500))
        } else {
            fitting(kind)
        };
        world.open.remove(&open);
        let (agent, op) = open;
        world.step(Input::Completed { agent, op, outcome });
    }
}

/// A world in which all of it happened.
fn after(config: Config, acts: Vec<Act>) -> World {
    let mut world = World::new(config);
    world.prepares = false;
    world.create("main");
    for act in acts {
        act.happen(&mut world);
    }
    world
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    prop::collection::vec(act(), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn nothing_that_happens_breaks_it(config in tight(), acts in acts()) {
        drop(after(config, acts));
    }
}

/// What never meets a law proves nothing about it.
#[test]
fn what_happens_concerns_every_law() {
    let (mut runner, mut concerned) = (TestRunner::deterministic(), BTreeMap::new());
    for _ in 0..192 {
        let (config, acts) = (tight(), acts()).new_tree(&mut runner).unwrap().current();
        for (law, count) in after(config, acts).laws.antecedents() {
            *concerned.entry(law).or_insert(0) += count;
        }
    }
    let silent: Vec<_> = concerned.iter().filter(|(_, count)| **count == 0).collect();
    assert!(silent.is_empty(), "{silent:?} of {concerned:?}");
}
