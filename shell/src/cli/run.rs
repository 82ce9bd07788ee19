//! `holon run`: one prompt, to its end.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Millis, Record};
use holon_platform::{Environment, entropy, spawn};

use super::budget_limit::BudgetLimit;
use super::conditions::{ConditionArgs, Conditions};
use super::exit::Exit;
use super::given_limits::GivenLimits;
use super::image_args::{ImageArgs, SkillArgs};
use super::interrupts::{self, Ending};
use super::outcome::GoesOn;
use super::output::{self, Failure, Lines};
use super::run_input::{Answers, RunInput};
use super::run_request::{RunRequest, Target, Task, execution};
use super::runs;
use super::session::{Means, Session};
use super::setup::Setup;
use super::template;
use super::{attached_run, outcome};
use crate::activity::{Activity, TextSource};
use crate::daemon::Metadata;
use crate::driver::Observer;
use crate::envelope::Envelopes;
use crate::home::Home;
use crate::live::LiveSink;
use crate::report::RunReport;
use crate::screen::{Look, Screen};
use crate::settings::Settings;
use crate::settings::find_home;
use crate::temporary_runs::{self, TemporaryRun};
use crate::workplace;

/// Longest prompt that is read; the core's own bound is smaller.
const PROMPT_BYTES: u64 = 64 << 20;

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// Send this prompt: its words are joined; `-` reads it from standard input
    #[arg(required_unless_present_any = ["resume", "input_format"], value_name = "TEXT")]
    text: Vec<String>,
    /// Continue the newest temporary run, or the given one, with this prompt
    #[arg(long = "continue", value_name = "RUN", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "", conflicts_with_all = ["agent", "resume", "workspace_root", "cwd"])]
    continued: Option<String>,
    /// Resume a temporary run that was killed, has failed, or has asked: without TEXT it continues its task
    #[arg(long, value_name = "RUN", conflicts_with_all = ["agent", "workspace_root", "cwd"])]
    resume: Option<String>,
    #[command(flatten)]
    images: ImageArgs,
    #[command(flatten)]
    skills: SkillArgs,
    /// Use this model, as provider/model
    #[arg(long)]
    model: Option<String>,
    /// Limit the model rounds of the turn; a run that needs more ends with exit code 8
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// Use this durable agent, in the ledger of the home; without it a temporary one
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Create the agent if it does not exist
    #[arg(long, requires = "agent")]
    create_agent: bool,
    /// Create it from this template: its id, a folder, or an address on GitHub (`holon template list`)
    #[arg(long, requires = "create_agent", value_name = "TEMPLATE")]
    template: Option<String>,
    /// End the run when it has cost this much: dollars (`0.50`) or tokens (`200k tokens`)
    #[arg(long, value_name = "AMOUNT")]
    budget: Option<BudgetLimit>,
    #[command(flatten)]
    conditions: ConditionArgs,
    /// Exit without waiting for background tasks; those of a temporary agent end with the run
    #[arg(long)]
    no_wait_for_tasks: bool,
    /// Work in this folder [default: the git repository around the current folder, or that folder]
    #[arg(long, value_name = "FOLDER")]
    workspace_root: Option<PathBuf>,
    /// Start commands here, inside the workspace [default: the current folder; with --workspace-root, that folder]
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// With `stream-json`, take prompts, interjections and answers from standard input, one JSON object in each line, until
    /// its end; the output is stream-json, too
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["check", "output_schema", "json"])]
    input_format: Option<InputFormat>,
    /// Print the outcome in this format [default: text]
    #[arg(long, value_enum, value_name = "FORMAT")]
    output_format: Option<Format>,
    /// Print one JSON document; same as --output-format json
    #[arg(long, conflicts_with = "output_format")]
    json: bool,
    /// Show only errors on stderr
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
    StreamJson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InputFormat {
    /// One prompt, where TEXT is `-`
    Text,
    /// Lines, while the run goes on
    StreamJson,
}

/// Who runs the prompt.
enum Runner {
    Here(Box<Session>),
    /// The runtime that has the home, by its own configuration.
    Beside(Box<(RunRequest, Metadata)>),
}

/// Everything that a run needs, once its arguments turned out to be sensible.
struct Prepared {
    runner: Runner,
    task: Task,
    activity: Arc<Mutex<Activity>>,
    lines: Option<Lines>,
    format: Format,
    given: GivenLimits,
}

pub(super) fn run(home: Option<PathBuf>, args: RunArgs) -> Result<Exit, Failure> {
    interrupts::block_on(|ending| Box::pin(whole(home, args, ending)))
}

async fn whole(home: Option<PathBuf>, args: RunArgs, ending: Ending) -> Result<Exit, Failure> {
    // Reading files and standard input may take for ever; a request to end does not wait for that.
    let prepared = tokio::select! {
        biased;
        () = ending.wait() => {
            return Err(Failure::new(Exit::Interrupted, anyhow!("interrupted before the run began")));
        }
        prepared = spawn::blocking(move || prepare(home, args)) => prepared??,
    };
    let Prepared { runner, task, activity, lines, format, given } = prepared;
    let request = runner.request();
    let screen = request.screen.clone();
    let goes_on = if request.target.is_temporary() {
        GoesOn::Resumed(request.agent.clone())
    } else {
        GoesOn::Prompted(request.agent.clone())
    };
    let report = tokio::select! {
        report = Box::pin(runner.run(&task, ending.clone())) => report,
        never = screen.animate() => match never {},
    };
    activity.lock().unwrap_or_else(PoisonError::into_inner).finish();
    let asked = ending.asked();
    let printed =
        spawn::blocking(move || outcome::print(report, format, lines, &screen, &goes_on, &activity, &given));
    tokio::select! {
        biased;
        () = ending.wait(), if !asked => {
            Err(Failure::new(Exit::Interrupted, anyhow!("interrupted before the outcome was printed")))
        }
        printed = printed => printed?,
    }
}

impl Runner {
    fn request(&self) -> &RunRequest {
        match self {
            Self::Here(session) => &session.request,
            Self::Beside(beside) => &beside.0,
        }
    }

    async fn run(self, task: &Task, ending: Ending) -> Result<RunReport, Failure> {
        match self {
            Self::Here(session) => Box::pin(session.run(task, ending)).await,
            Self::Beside(beside) => {
                let (request, metadata) = *beside;
                attached_run::run(request, metadata, task, ending).await
            }
        }
    }
}

/// By whose configuration the prompt runs.
enum Terms {
    Own(Box<Setup>),
    /// A runtime has the home, and a configuration that it was started with.
    Runtime(Box<Metadata>),
}

impl Terms {
    /// How long is waited for what is due, and what is wrong with the configuration and does no harm.
    fn idle_limit(&self, home: &Home, environment: &Environment) -> (Millis, Vec<String>) {
        match self {
            Self::Own(setup) => {
                let told =
                    setup.unusable.iter().map(|problem| format!("{problem}; the other models are used"));
                (setup.settings.run.idle_limit, told.collect())
            }
            Self::Runtime(_) => {
                let (limit, problem) = Settings::idle_limit(&home.config(), environment);
                let told =
                    problem.map(|problem| format!("{problem}; waiting for what is due within {limit}"));
                (limit, told.into_iter().collect())
            }
        }
    }

    /// Who runs the prompt, with the limits that flags have set.
    fn runner(
        self,
        request: RunRequest,
        prompt: &str,
        live: LiveSink,
        args: &RunArgs,
    ) -> Result<(Runner, GivenLimits), Failure> {
        match self {
            Self::Own(setup) => {
                let (session, given) = session(*setup, request, prompt, live, args)?;
                Ok((Runner::Here(Box::new(session)), given))
            }
            Self::Runtime(metadata) => {
                let beside = Box::new((RunRequest { live, ..request }, *metadata));
                Ok((Runner::Beside(beside), GivenLimits::default()))
            }
        }
    }
}

fn prepare(home: Option<PathBuf>, mut args: RunArgs) -> Result<Prepared, Failure> {
    let environment = Environment::of_process();
    let home = find_home(home, &environment)?;
    let format = format(&args)?;
    let earlier = earlier(&args, &home)?;
    let kept = kept(&mut args, earlier.as_ref())?;
    let (own_home, agent, target) = target(&args, &home, earlier.as_ref())?;
    let living = if target.is_temporary() { None } else { attached_run::living(&own_home) };
    let terms = match living {
        Some(metadata) => {
            attached_run::check_terms(has_own_terms(&args), &metadata)?;
            Terms::Runtime(Box::new(metadata))
        }
        None => Terms::Own(Box::new(Setup::load(&home, &environment, args.model.as_deref())?)),
    };
    let execution = match &earlier {
        Some(earlier) => earlier.execution.clone(),
        None => folders(args.workspace_root.as_deref(), args.cwd.as_deref(), &environment)?,
    };
    let conditions = Conditions::of(&args.conditions, &kept)?;
    let terms_of_run = conditions.terms();
    let others = kept.has_conditions() && !terms_of_run.has_conditions_of(&kept);
    let task = task(&args, earlier.as_ref(), others)?;
    let images = args.images.read()?;
    check_along(&task, !images.is_empty(), !args.skills.names.is_empty())?;
    let screen = screen(format, args.quiet, &environment);
    let (idle_limit, problems) = terms.idle_limit(&home, &environment);
    if let Terms::Own(setup) = &terms
        && let Some(chosen) = setup.settings.chosen_model()
    {
        screen.line(Look::Aside, &format!("holon: {chosen}"));
    }
    for problem in problems {
        screen.warn(Look::Bad, &format!("holon: {problem}"));
    }
    let texts = TextSource::default();
    let activity = Activity::new(screen.clone(), texts.clone());
    // An answer that has to fit a schema is shown when it does.
    let live = if conditions.changes_answer() { LiveSink::nobody() } else { activity.live() };
    let activity = Arc::new(Mutex::new(activity));
    let lines = if format == Format::StreamJson { Some(Lines::start()?) } else { None };
    let reads = lines.as_ref().filter(|_| args.input_format == Some(InputFormat::StreamJson));
    let input = reads.map(|lines| RunInput::begin(&agent, texts.clone(), lines)).transpose()?;
    let answers = input.as_ref().map(RunInput::answers);
    let request = RunRequest {
        home: own_home,
        agent,
        target,
        template: args.template.as_deref().map(template::selector).transpose()?,
        execution,
        folder_asked_for: args.workspace_root.is_some() || args.cwd.is_some(),
        own_terms: has_own_terms(&args),
        environment,
        idle_limit,
        wait_for_tasks: !args.no_wait_for_tasks,
        terms: temporary_runs::Terms {
            budget: args.budget.map(|budget| budget.to_string()),
            unverified: terms_of_run.has_conditions() && (kept.unverified || kept.unmet.is_some()),
            ..terms_of_run
        },
        conditions,
        images,
        skills: args.skills.names.clone(),
        screen,
        observer: observer(activity.clone(), lines.as_ref(), answers),
        input,
        texts,
        live: LiveSink::nobody(),
    };
    let (runner, given) = terms.runner(request, task.text(), live, &args)?;
    Ok(Prepared { runner, task, activity, lines, format, given })
}

/// What a prompt comes with needs one.
fn check_along(task: &Task, images: bool, skills: bool) -> Result<(), Failure> {
    let along = [("--image PATH", images), ("--skill NAME", skills)];
    let without_prompt = along.iter().find(|(_, given)| *given && !matches!(task, Task::Prompt(_)));
    without_prompt.map_or(Ok(()), |(option, _)| {
        let error = anyhow!("{option} comes with a prompt, and there is none");
        Err(Failure::usage(error).hint(format!("holon run --resume RUN {option} TEXT")))
    })
}

/// How the outcome is printed. Whoever writes lines reads lines.
fn format(args: &RunArgs) -> Result<Format, Failure> {
    let lines = args.input_format == Some(InputFormat::StreamJson);
    match args.output_format {
        Some(Format::Text | Format::Json) if lines => {
            let error = anyhow!(
                "--input-format stream-json prints stream-json, and --output-format names another format"
            );
            Err(Failure::usage(error).hint("leave --output-format out"))
        }
        None if lines => Ok(Format::StreamJson),
        None if args.json => Ok(Format::Json),
        None => Ok(Format::Text),
        Some(format) => Ok(format),
    }
}

/// With `others` the run has other conditions than before: what of those did not hold is nothing to the agent.
fn task(args: &RunArgs, earlier: Option<&TemporaryRun>, others: bool) -> Result<Task, Failure> {
    let lines = args.input_format == Some(InputFormat::StreamJson);
    let text = joined(&args.text)?;
    if lines && text == "-" {
        let error = anyhow!("standard input has the lines of --input-format stream-json, and TEXT is `-`");
        return Err(Failure::usage(error).hint("leave TEXT out, and write a line with the prompt"));
    }
    match earlier {
        Some(earlier) if args.text.is_empty() && args.resume.is_some() => Ok(match &earlier.terms.unmet {
            // It has done its task but for that.
            Some(unmet) if !others => Task::Prompt(unmet.clone()),
            Some(_) | None => Task::Resume(earlier.last_prompt.as_ref().map(|message| message.id)),
        }),
        Some(_) | None if args.text.is_empty() && lines => Ok(Task::Input),
        Some(_) | None => Ok(Task::Prompt(prompt_text(&text)?)),
    }
}

/// What this process needs to run a prompt itself.
fn session(
    setup: Setup,
    request: RunRequest,
    prompt: &str,
    live: LiveSink,
    args: &RunArgs,
) -> Result<(Session, GivenLimits), Failure> {
    let Setup { settings, mut config, providers, secrets, credentials, confinement, .. } = setup;
    // Nobody waits for hours in front of a prompt: an outage is waited for as long as the setting says.
    config.hold.on_outage = false;
    config.retry.patience = settings.run.patience;
    let mut given = GivenLimits::default();
    if let Some(rounds) = args.max_turns {
        config.turn.rounds = rounds;
        given.key("limits.rounds", "--max-turns");
    }
    if let Some(budget) = args.budget
        && let Some(kind) = budget.apply(&mut config, request.target.is_temporary())?
    {
        given.budget(kind, "--budget");
    }
    if prompt.len() as u64 > config.queue.body_bytes {
        let error = anyhow!("the prompt is {} bytes, the limit is {}", prompt.len(), config.queue.body_bytes);
        return Err(Failure::usage(error).hint("put it into a file and name the file in the prompt"));
    }
    let skills = settings.skills.skills(&request.environment);
    let home = Home::shared(request.home.root());
    let servers = settings.tool_servers.defined(home, &request.environment, &credentials);
    let session = Session {
        request,
        means: Means {
            config,
            durability: settings.durability,
            commands: settings.commands,
            confinement,
            secrets,
            redact_token_shapes: settings.redact_token_shapes,
            variables: settings.execution.environment,
            skills,
            providers,
            servers,
        },
        keep_runs: Some(settings.run.keep),
        live,
    };
    Ok((session, given))
}

/// The temporary run that goes on.
fn earlier(args: &RunArgs, home: &Home) -> Result<Option<TemporaryRun>, Failure> {
    let earlier = match (&args.continued, &args.resume) {
        (None, None) => return Ok(None),
        (Some(newest), _) if newest.is_empty() => temporary_runs::newest(home).map_err(runs::failure)?,
        (Some(name), _) | (None, Some(name)) => temporary_runs::named(home, name).map_err(runs::failure)?,
    };
    if earlier.in_progress {
        let error = anyhow!("a process is at {} already", earlier.agent);
        return Err(Failure::new(Exit::RefusedByState, error).hint("holon runs list"));
    }
    Ok(Some(earlier))
}

/// What a run that is resumed had to keep to. Its budget holds unless another one is given.
fn kept(args: &mut RunArgs, earlier: Option<&TemporaryRun>) -> Result<temporary_runs::Terms, Failure> {
    let earlier =
        earlier.filter(|_| args.resume.is_some() && args.input_format != Some(InputFormat::StreamJson));
    let Some(terms) = earlier.map(|earlier| earlier.terms.clone()) else {
        return Ok(temporary_runs::Terms::default());
    };
    if let (None, Some(budget)) = (args.budget, &terms.budget) {
        let budget =
            budget.parse().map_err(|problem: String| Failure::usage(anyhow!("--budget: {problem}")))?;
        args.budget = Some(budget);
    }
    Ok(terms)
}

/// Which agent in which home: a temporary one gets a home and a ledger of its own.
fn target(
    args: &RunArgs,
    home: &Home,
    earlier: Option<&TemporaryRun>,
) -> Result<(Home, AgentId, Target), Failure> {
    if let Some(earlier) = earlier {
        return Ok((earlier.home.clone(), earlier.agent.clone(), Target::Resumed));
    }
    let Some(name) = &args.agent else {
        let name = format!("run-{}", entropy::name()?);
        let agent = AgentId::new(&name)?;
        return Ok((home.run(&name), agent, Target::Temporary));
    };
    let agent = AgentId::new(name).map_err(Failure::usage)?;
    let target = if args.create_agent { Target::Created } else { Target::Existing };
    Ok((home.clone(), agent, target))
}

fn has_own_terms(args: &RunArgs) -> bool {
    args.model.is_some() || args.max_turns.is_some() || args.budget.is_some()
}

/// Where the agent works: the named folders, or the current one in the repository around it.
fn folders(
    workspace: Option<&Path>,
    cwd: Option<&Path>,
    environment: &Environment,
) -> Result<ExecutionBinding, Failure> {
    if let Some(workspace) = workspace {
        return execution(workspace, cwd.unwrap_or(workspace));
    }
    let current = std::env::current_dir().map_err(|error| {
        let error = anyhow!("the current folder is gone: {error}");
        Failure::usage(error).hint("go to a folder that exists, or name one with --workspace-root")
    })?;
    let workspace = workplace::around(&current, environment.get("HOME").map(Path::new));
    execution(&workspace, cwd.unwrap_or(&current))
}

/// The words of a prompt as one text. Among others `-` would be a word, and standard input nothing.
pub(super) fn joined(words: &[String]) -> Result<String, Failure> {
    if words.len() > 1 && words.iter().any(|word| word == "-") {
        let error =
            anyhow!("`-` reads the prompt from standard input, and stands alone: other words come with it");
        return Err(
            Failure::usage(error).hint("(echo \"Review this:\"; git diff) | holon run -, or quote the words")
        );
    }
    Ok(words.join(" "))
}

/// The prompt as it was given: on the command line, or on standard input.
pub(super) fn prompt_text(text: &str) -> Result<String, Failure> {
    if text != "-" {
        if text.trim().is_empty() {
            return Err(Failure::usage(anyhow!("the prompt is empty")));
        }
        return Ok(text.to_owned());
    }
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        output::note("holon: type the prompt, and end it with Ctrl-D on a line of its own");
    }
    let mut bytes = Vec::new();
    stdin.lock().take(PROMPT_BYTES + 1).read_to_end(&mut bytes).context("standard input")?;
    if bytes.len() as u64 > PROMPT_BYTES {
        let error = anyhow!("the prompt on standard input is larger than {PROMPT_BYTES} bytes");
        return Err(Failure::usage(error).hint("put it into a file and name the file in the prompt"));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| Failure::usage(anyhow!("the prompt on standard input is not UTF-8: {error}")))?;
    if text.trim().is_empty() {
        return Err(Failure::usage(anyhow!("the prompt on standard input is empty")));
    }
    Ok(text)
}

/// Activity is for people: beside a JSON document only where it can't be mixed up with it.
fn screen(format: Format, quiet: bool, environment: &Environment) -> Screen {
    let apart = std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
    let wanted = match format {
        Format::Text => !quiet,
        Format::Json | Format::StreamJson => !quiet && apart,
    };
    if wanted { Screen::stderr(environment) } else { Screen::quiet() }
}

/// Shows what happens, and hands every durable record to whoever reads the stream. A reader that went away
/// does not stop the run: its outcome is in the ledger.
fn observer(activity: Arc<Mutex<Activity>>, lines: Option<&Lines>, answers: Option<Answers>) -> Observer {
    let mut stream = lines.map(|lines| (lines.sender(), Envelopes::default()));
    Box::new(move |record: &Record| {
        activity.lock().unwrap_or_else(PoisonError::into_inner).see(record);
        if let Some((lines, envelopes)) = &mut stream {
            match envelopes.line(record) {
                Ok(line) => drop(lines.send(output::json(&line))),
                Err(error) => output::note(&format!("holon: {error}")),
            }
        }
        if let Some(answers) = &answers {
            answers.record(record);
        }
    })
}
