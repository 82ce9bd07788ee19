//! What a round costs in a long turn, and a turn in a long conversation: `cargo bench -p holon-core --bench rounds`. Their
//! requests show all that was before, so they may cost what a longer request takes, and nothing beyond that.

use divan::{Bencher, black_box};
use holon_core::{Host, Input};
use holon_facts::execution::ExecutionSnapshot;
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings};
use holon_facts::message::Ingress;
use holon_facts::model::{AnswerBlock, ModelAnswer, ProposedCall, StopReason, Timing};
use holon_facts::model_ref::ModelRef;
use holon_facts::outcome::{LoadedContext, ToolOutcome};
use holon_facts::provenance::{AdmissionContext, Surface};
use holon_facts::receipt::{Receipt, ToolFacts};
use holon_facts::usage::TokenUsage;
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Config, Millis, Mono, Now, Outcome, ReplyId, Seed, Text, Wall};

fn main() {
    divan::main();
}

/// The answer that calls a tool, its result, and the next request, after so many rounds.
#[divan::bench(args = [20, 100, 400], sample_count = 30, sample_size = 1)]
fn round_after(bencher: Bencher<'_, '_>, rounds: u64) {
    bencher.with_inputs(|| Turn::after(rounds)).bench_local_values(|mut turn| {
        turn.round();
        turn
    });
}

/// The same where an operator has closed the episode in the middle: the digest of what there was, and a request that shows a
/// recap of the rounds instead of them.
#[divan::bench(args = [20, 200], sample_count = 30, sample_size = 1)]
fn round_that_closes_an_episode_after(bencher: Bencher<'_, '_>, rounds: u64) {
    let closing = || {
        let mut turn = Turn::after(rounds);
        turn.step(Input::Compact { agent: turn.agent.clone(), reply: ReplyId(3) });
        turn
    };
    bencher.with_inputs(closing).bench_local_values(|mut turn| {
        turn.round();
        turn
    });
}

/// A prompt, what the turn begins with, its request and the answer, after so many such turns.
#[divan::bench(args = [5, 20, 60], sample_count = 100, sample_size = 1)]
fn turn_after(bencher: Bencher<'_, '_>, turns: u64) {
    let conversation = || {
        let mut turn = Turn::after(0);
        turn.answers();
        for _ in 1..turns {
            turn.next();
        }
        turn
    };
    bencher.with_inputs(conversation).bench_local_values(|mut turn| {
        turn.next();
        turn
    });
}

struct Turn {
    host: Host,
    agent: AgentId,
    steps: u64,
}

impl Turn {
    fn after(rounds: u64) -> Self {
        let agent = AgentId::new("main").expect("a valid id");
        let model = ModelRef::new("scripted/hello").expect("a valid model");
        let mut config = Config::new(vec![model]);
        // Nothing is left out.
        config.context.window_tokens = 100_000_000;
        config.turn.rounds = 1_000;
        let host = Host::new(config, Seed(7)).expect("a valid configuration");
        let mut turn = Self { host, agent: agent.clone(), steps: 0 };
        let place = ExecutionBinding::project("/w", "/w");
        let spec = AgentSpec::named(AgentKind::Default, place);
        turn.step(Input::CreateAgent {
            agent,
            spec,
            settings: InitialSettings::default(),
            reply: ReplyId(1),
        });
        turn.begin();
        for _ in 0..rounds {
            turn.round();
        }
        turn
    }

    fn begin(&mut self) {
        let text = Text::short(format!("do something useful, number {}", self.steps));
        let ingress = Ingress::prompt(text, Surface::RunOnce, AdmissionContext::LocalProcess);
        self.step(Input::Ingress { agent: self.agent.clone(), ingress, reply: ReplyId(self.steps + 10) });
        let place = ExecutionBinding::project("/w", "/w");
        let context = LoadedContext {
            sources: Vec::new(),
            execution: ExecutionSnapshot::host_local(place, "/h", "linux", "bash"),
            context_build_ms: Millis(1),
            skills: None,
            tools: None,
        };
        self.ends(Outcome::Context { context });
    }

    fn next(&mut self) {
        self.begin();
        self.answers();
    }

    fn answers(&mut self) {
        let text = Text::short(format!("did number {}", self.steps));
        self.ends(answer(AnswerBlock::Text { text }, StopReason::EndTurn));
    }

    fn round(&mut self) {
        let number = self.steps;
        let (call_id, tool_name) = (String::new(), "ApplyPatch".into());
        let arguments = Text::short(format!(r#"{{"patch":"{number}"}}"#));
        let call = ProposedCall { call_id, tool_name, arguments, inline: None };
        self.ends(answer(AnswerBlock::ToolCall(call), StopReason::ToolUse));
        let receipt = Receipt::success(Text::short(format!("patched {number}")), ToolFacts::default());
        let outcome = ToolOutcome { receipt, duration_ms: Millis(1), end: None };
        self.ends(Outcome::Tool { outcome });
    }

    /// The one operation that is open ends like this.
    fn ends(&mut self, outcome: Outcome) {
        let agent = self.host.view().agent(&self.agent).expect("the agent");
        let op = *agent.ops.keys().next().expect("an open operation");
        self.step(Input::Completed { agent: self.agent.clone(), op, outcome });
    }

    fn step(&mut self, input: Input) {
        self.steps += 1;
        let wall = Wall(1_700_000_000_000_000 + i64::try_from(self.steps * 1_000).unwrap_or(i64::MAX));
        drop(black_box(self.host.step(Now { mono: Mono(self.steps * 1_000), wall }, input)));
    }
}

fn answer(block: AnswerBlock, stop: StopReason) -> Outcome {
    let usage = TokenUsage { input_tokens: 0, output_tokens: 5, total_tokens: 5, cached_input_tokens: 0 };
    let answer = ModelAnswer {
        blocks: vec![block],
        stop,
        usage,
        timing: Timing::default(),
        joined: None,
        delivery: None,
        stored: None,
    };
    Outcome::Answer { answer }
}
