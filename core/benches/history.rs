//! What a turn of an agent costs that has lived long, beside the same turn of a new one: the work of a step must not grow
//! with what is over. It takes the numbers of work items, messages and waits of that life, and measures nothing itself:
//! `valgrind --tool=callgrind --toggle-collect='*measured*'` counts the instructions of the last turns alone
//! (docs/measures.md).

use std::hint::black_box;

use holon_core::Input;
use holon_core::host::Host;
use holon_facts::execution::ExecutionSnapshot;
use holon_facts::hint::Hint;
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings};
use holon_facts::ids::WorkItemId;
use holon_facts::message::Ingress;
use holon_facts::model::{AnswerBlock, ModelAnswer, ProposedCall, StopReason, Timing};
use holon_facts::model_ref::ModelRef;
use holon_facts::outcome::{LoadedContext, ToolOutcome};
use holon_facts::provenance::{AdmissionContext, Surface};
use holon_facts::receipt::{Receipt, ToolFacts};
use holon_facts::trigger::{Delivery, DeliveryMode};
use holon_facts::usage::TokenUsage;
use holon_facts::work::{NewWorkItem, PlanStatus};
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Config, Millis, Mono, Now, Outcome, ReplyId, Seed, Text, Wall};

/// Turns that are measured.
const TURNS: u64 = 100;

fn main() {
    let sizes: Vec<u64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    // Without numbers there is nobody who counts.
    let [items, messages, waits] = sizes.as_slice() else { return };
    let mut world = World::new();
    world.completes(*items);
    world.processes(*messages);
    world.waits(*waits);
    // Whatever is remembered of the last turns is the same for all lives.
    for _ in 0..TURNS {
        world.turn();
    }
    for _ in 0..TURNS {
        measured(&mut world);
    }
}

/// A turn of a prompt, with a call, and a delivery and a look at the clock in the middle of it.
#[inline(never)]
fn measured(world: &mut World) {
    world.turn();
}

struct World {
    host: Host,
    agent: AgentId,
    steps: u64,
}

impl World {
    fn new() -> Self {
        let agent = AgentId::new("main").expect("a valid id");
        let model = ModelRef::new("scripted/hello").expect("a valid model");
        let mut config = Config::new(vec![model]);
        // A year of turns without an operator in a moment.
        config.unattended.turns_per_day = u32::MAX;
        let host = Host::new(config, Seed(7)).expect("a valid configuration");
        let mut world = Self { host, agent: agent.clone(), steps: 0 };
        let spec = AgentSpec::named(AgentKind::Default, place());
        world.step(Input::CreateAgent {
            agent,
            spec,
            settings: InitialSettings::default(),
            reply: ReplyId(1),
        });
        world
    }

    fn step(&mut self, input: Input) {
        self.steps += 1;
        let wall = Wall(1_700_000_000_000_000 + i64::try_from(self.steps * 1_000).unwrap_or(i64::MAX));
        drop(black_box(self.host.step(Now { mono: Mono(self.steps * 1_000), wall }, input)));
    }

    /// The one operation that is open ends like this.
    fn ends(&mut self, outcome: Outcome) {
        let agent = self.host.view().agent(&self.agent).expect("the agent");
        let op = *agent.ops.keys().next().expect("an open operation");
        self.step(Input::Completed { agent: self.agent.clone(), op, outcome });
    }

    fn is_at_rest(&self) -> bool {
        self.host.view().agent(&self.agent).is_some_and(|agent| agent.run.is_none())
    }

    fn prompt(&mut self) {
        let text = Text::short("do something useful");
        let ingress = Ingress::prompt(text, Surface::RunOnce, AdmissionContext::LocalProcess);
        self.step(Input::Ingress { agent: self.agent.clone(), ingress, reply: ReplyId(1) });
        self.ends(context());
    }

    fn turn(&mut self) {
        self.prompt();
        self.ends(calls("ListWorkItems", "{}"));
        self.deliver("moon", None);
        self.step(Input::Tick);
        self.ends(tool_answers("nothing"));
        self.ends(answers("done"));
        assert!(self.is_at_rest(), "the bare hint is reduced");
    }

    fn deliver(&mut self, source: &str, body: Option<Text>) {
        let hint = Hint { body, ..Hint::new(source, "it moved") };
        let delivery = Delivery { generation: 1, delivery_mode: DeliveryMode::WakeHint, hint };
        self.step(Input::Deliver { agent: self.agent.clone(), delivery, reply: ReplyId(1) });
    }

    /// Work items come and are done while a turn goes on.
    fn completes(&mut self, items: u64) {
        self.prompt();
        for number in 1..=items {
            let (objective, plan_status, todo_list) = ("go".into(), PlanStatus::Ready, Vec::new());
            let item = NewWorkItem { objective, plan_status, todo_list, plan: false };
            self.step(Input::CreateWorkItem {
                agent: self.agent.clone(),
                item,
                key: None,
                reply: ReplyId(1),
            });
            let (agent, item) = (self.agent.clone(), WorkItemId(number));
            self.step(Input::CompleteWorkItem { agent, item, reply: ReplyId(1) });
        }
        self.ends(answers("done"));
    }

    /// Each bare hint is told by a message that needs no model.
    fn processes(&mut self, messages: u64) {
        for _ in 0..messages {
            self.deliver("moon", None);
        }
    }

    /// The agent waits for the moon, and it moves.
    fn waits(&mut self, waits: u64) {
        for number in 0..waits {
            self.prompt();
            self.ends(calls("WaitFor", r#"{"reason":"the moon","wake":"external","resource":"moon"}"#));
            assert!(self.is_at_rest(), "it waits");
            self.deliver("moon", Some(Text::short(format!("it moved to {number}"))));
            self.ends(context());
            self.ends(answers("seen"));
        }
    }
}

fn place() -> ExecutionBinding {
    ExecutionBinding::project("/w", "/w")
}

fn context() -> Outcome {
    let execution = ExecutionSnapshot {
        external_trigger: true,
        ..ExecutionSnapshot::host_local(place(), "/h", "linux", "bash")
    };
    let context = LoadedContext {
        sources: Vec::new(),
        execution,
        context_build_ms: Millis(1),
        skills: None,
        tools: None,
    };
    Outcome::Context { context }
}

fn answers(text: &str) -> Outcome {
    answer(AnswerBlock::Text { text: Text::short(text) }, StopReason::EndTurn)
}

fn calls(tool: &str, arguments: &str) -> Outcome {
    let (call_id, tool_name) = (String::new(), tool.into());
    let call = ProposedCall { call_id, tool_name, arguments: Text::short(arguments), inline: None };
    answer(AnswerBlock::ToolCall(call), StopReason::ToolUse)
}

fn answer(block: AnswerBlock, stop: StopReason) -> Outcome {
    let usage = TokenUsage { input_tokens: 10, output_tokens: 5, total_tokens: 15, cached_input_tokens: 0 };
    Outcome::Answer {
        answer: ModelAnswer {
            blocks: vec![block],
            stop,
            usage,
            timing: Timing::default(),
            joined: None,
            delivery: None,
            stored: None,
        },
    }
}

fn tool_answers(text: &str) -> Outcome {
    let receipt = Receipt::success(Text::short(text), ToolFacts::default());
    Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms: Millis(1), end: None } }
}
