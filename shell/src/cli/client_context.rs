//! What commands about agents share: they find the runtime of the home, and say whom they mean.

use std::cell::OnceCell;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::anyhow;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use holon_api::{Client, ClientError, Control, ListQuery, Listed};
use holon_facts::{AgentId, Millis};
use holon_ledger::read::text_reader;
use holon_platform::Environment;
use holon_text::Texts;
use holon_text::nearest::did_you_mean;

use super::daemon;
use super::exit::Exit;
use super::interrupts::{self, Ending};
use super::new_home;
use super::output::{self, Failure};
use super::setup::known_secrets;
use super::stopped::{self, Exported, Stopped};
use crate::activity::TextSource;
use crate::client;
use crate::daemon::{ProbeResult, look};
use crate::home::Home;
use crate::settings::find_home;
use crate::settings::{Origin, Settings, quoted};

/// Agents among which the nearest name is looked for.
const NEAR: u32 = 1_000;

/// Which agent.
#[derive(Debug, Clone, Args)]
pub(super) struct Whom {
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(value_name = "AGENT")]
    agent: Option<String>,
    /// Use this agent; same as AGENT
    #[arg(long = "agent", value_name = "AGENT", conflicts_with = "agent")]
    named: Option<String>,
}

/// Whether a command starts the runtime where none runs.
#[derive(Debug, Clone, Args)]
pub(super) struct Autostart {
    /// Fail if no runtime runs, instead of starting one [default: the setting `daemon.autostart`]
    #[arg(long)]
    no_start: bool,
    #[arg(skip)]
    quiet: bool,
}

impl Autostart {
    /// The start is not shown.
    #[must_use]
    pub(super) fn quietly(self, quiet: bool) -> Self {
        Self { quiet, ..self }
    }

    /// Whoever names an address means the runtime there; and commands of an agent start none behind its back.
    fn wanted(&self, home: &Home, environment: &Environment) -> bool {
        !self.no_start
            && client::named_address(environment).is_none()
            && environment.get("HOLON_RUNTIME").is_none()
            && Settings::survey(&home.config(), environment).is_ok_and(|(settings, _)| settings.autostart)
    }
}

/// What a command does. One type for all, so that what is around it is compiled once.
type Work<'a> =
    Box<dyn FnOnce(ClientContext, Ending) -> Pin<Box<dyn Future<Output = Result<Exit, Failure>> + 'a>> + 'a>;

/// A runtime, and the home that it has.
pub(super) struct ClientContext {
    pub(super) client: Client,
    pub(super) environment: Environment,
    /// Whether it is read without a runtime, which was said already.
    pub(super) stopped: bool,
    home: Home,
    /// The agent that was named.
    meant: Rc<OnceCell<AgentId>>,
}

impl ClientContext {
    /// Works through the runtime of a home; an interrupt gives the work up.
    pub(super) fn work<'a, F>(
        home: Option<PathBuf>,
        work: impl FnOnce(Self, Ending) -> F + 'a,
    ) -> Result<Exit, Failure>
    where
        F: Future<Output = Result<Exit, Failure>> + 'a,
    {
        Self::perform(home, boxed(work))
    }

    /// The same for what only reads: where no runtime answers, the ledger of the home is read, and a note says so.
    pub(super) fn read<'a, F>(
        home: Option<PathBuf>,
        work: impl FnOnce(Self, Ending) -> F + 'a,
    ) -> Result<Exit, Failure>
    where
        F: Future<Output = Result<Exit, Failure>> + 'a,
    {
        Self::perform_reading(home, boxed(work))
    }

    /// The same from an export with its recorder, instead of a home.
    pub(super) fn read_export<'a, F>(
        home: Option<PathBuf>,
        file: &'a Path,
        work: impl FnOnce(Self, Ending) -> F + 'a,
    ) -> Result<Exit, Failure>
    where
        F: Future<Output = Result<Exit, Failure>> + 'a,
    {
        Self::work(home, move |mut cli, ending| async move {
            let Exported { client, folder } = stopped::of_export(&cli.home, &cli.environment, file)?;
            (cli.client, cli.stopped) = (client, true);
            let done = work(cli, ending).await;
            folder.close()?;
            done
        })
    }

    fn perform(home: Option<PathBuf>, work: Work<'_>) -> Result<Exit, Failure> {
        let environment = Environment::of_process();
        let flag = home.clone();
        let home = find_home(home, &environment)?;
        let client = client::of(&home, &environment)?;
        let named = Origin::of_home(flag.as_deref(), &environment) != Origin::Default;
        interrupts::block_on(|ending| async move {
            let meant = Rc::default();
            let cli =
                Self { client: client.clone(), environment, stopped: false, home, meant: Rc::clone(&meant) };
            ending.or(cli.check_home(named)).await?;
            let done = work(cli, ending.clone()).await;
            match (done, meant.get()) {
                (Err(failure), Some(agent)) => Err(ending.or(near(&client, agent, failure)).await?),
                (done, _) => done,
            }
        })
    }

    fn perform_reading(home: Option<PathBuf>, work: Work<'_>) -> Result<Exit, Failure> {
        Self::work(home, |mut cli, ending| async move {
            let stopped = ending.or(stopped::find(&cli.home, &cli.environment, &cli.client)).await?;
            if let Some(Stopped { client, note }) = stopped {
                output::prose(&format!("holon: {note}"));
                (cli.client, cli.stopped) = (client, true);
            }
            let new = cli.is_new().then(|| (cli.home.clone(), cli.environment.clone()));
            match (work(cli, ending).await, new) {
                (Err(failure), Some((home, environment))) if failure.exit == Exit::NotReachable => {
                    Err(new_home::no_agents(&home, &environment))
                }
                (done, _) => done,
            }
        })
    }

    /// The same runtime, or the ledger of the home where none answers, without a word about it.
    pub(super) async fn as_read(&self) -> Result<Self, Failure> {
        let stopped = stopped::find(&self.home, &self.environment, &self.client).await?;
        let (client, stopped) = match stopped {
            Some(Stopped { client, .. }) => (client, true),
            None => (self.client.clone(), self.stopped),
        };
        let (home, environment) = (self.home.clone(), self.environment.clone());
        Ok(Self { client, environment, stopped, home, meant: Rc::clone(&self.meant) })
    }

    /// An address leads to whichever runtime listens there: the one of another home on this machine is not meant, and
    /// none of another home is where the home was named.
    async fn check_home(&self, named: bool) -> Result<(), Failure> {
        let Some(address) = client::named_address(&self.environment) else { return Ok(()) };
        // Whoever does not answer is reported by the command itself.
        let Ok(handshake) = self.client.handshake().await else { return Ok(()) };
        let Some(theirs) = handshake.runtime.home_dir.as_deref() else { return Ok(()) };
        let (named_theirs, theirs) = (quoted(theirs), Path::new(theirs));
        let is_here = theirs.is_absolute() && theirs.is_dir();
        if same_folder(theirs, self.home.root()) || !(named || is_here) {
            return Ok(());
        }
        let error = anyhow!(
            "HOLON_HTTP_ADDR leads to the runtime at {address}, which has the home {}, not {}",
            theirs.display(),
            self.home.root().display()
        );
        let hint = format!("unset HOLON_HTTP_ADDR, or name that home: --home {named_theirs}");
        Err(Failure::usage(error).hint(hint))
    }

    /// The same with a runtime that is started where none runs.
    pub(super) fn work_started<'a, F>(
        home: Option<PathBuf>,
        start: Autostart,
        work: impl FnOnce(Self, Ending) -> F + 'a,
    ) -> Result<Exit, Failure>
    where
        F: Future<Output = Result<Exit, Failure>> + 'a,
    {
        let work = boxed(work);
        Self::work(home, move |cli, ending| async move {
            let cli = ending.or(cli.started(&start)).await?;
            work(cli, ending).await
        })
    }

    /// Answers a client on standard input and output, with a runtime that is started where none runs, until the input ends.
    pub(super) fn serve_lines<S: holon_rpc::Service>(
        home: Option<PathBuf>,
        start: Autostart,
        service: impl FnOnce(Client) -> io::Result<S>,
    ) -> Result<Exit, Failure> {
        Self::work_started(home, start, move |cli, ending| async move {
            let service = Arc::new(service(cli.client)?);
            let served = holon_rpc::serve(service, BufReader::new(io::stdin()), io::stdout());
            tokio::select! {
                biased;
                // Agents live on, so there is nothing to give up.
                () = ending.wait() => {}
                served = served => served?,
            }
            Ok(Exit::Completed)
        })
    }

    /// The same with a runtime that is started where none runs and that is wanted.
    pub(super) async fn started(mut self, start: &Autostart) -> Result<Self, Failure> {
        if start.wanted(&self.home, &self.environment)
            && let Some(pid) = Box::pin(daemon::ensure(&self.home, &self.environment)).await?
        {
            if !start.quiet {
                output::note(&format!(
                    "holon: started the runtime (process {pid}); `holon daemon stop` ends it"
                ));
            }
            self.client = client::of(&self.home, &self.environment)?;
        }
        Ok(self)
    }

    /// What is due within so long is waited for; what is wrong with that is told.
    pub(super) fn idle_limit(&self) -> Millis {
        let (limit, problem) = Settings::idle_limit(&self.home.config(), &self.environment);
        if let Some(problem) = problem {
            output::note(&format!("holon: {problem}; waiting for what is due within {limit}"));
        }
        limit
    }

    /// Whether no runtime has ever been in the home, which is the one that is meant.
    pub(super) fn is_new(&self) -> bool {
        client::named_address(&self.environment).is_none()
            && self.home.ledger().is_absent()
            && matches!(look(&self.home), Ok(ProbeResult::Nobody))
    }

    /// The command that makes the first agent.
    pub(super) fn first_step(&self) -> &'static str {
        new_home::next(&self.home, &self.environment)
    }

    pub(super) fn home(&self) -> &Home {
        &self.home
    }

    pub(super) fn home_root(&self) -> &Path {
        self.home.root()
    }

    /// What reads the texts that records name, where the ledger is on this machine: a text is named by its hash, so
    /// another home's is never taken for it.
    pub(super) fn texts(&self) -> TextSource {
        let texts = TextSource::default();
        if let Ok(reader) = self.home.ledger().reader() {
            let secrets = known_secrets(&self.home, &self.environment);
            drop(texts.set(Texts::new(secrets, text_reader(Arc::new(reader)))));
        }
        texts
    }

    /// The agent that is meant.
    ///
    /// # Errors
    /// A name that no agent can have; a runtime that can't be asked for its default agent.
    pub(super) async fn agent(&self, named: Option<&str>) -> Result<AgentId, Failure> {
        let named = named.or_else(|| self.environment.get("HOLON_AGENT_ID"));
        if let Some(named) = named {
            let agent = AgentId::new(named).map_err(Failure::usage)?;
            return Ok(self.meant.get_or_init(|| agent.clone()).clone());
        }
        Ok(self.client.handshake().await?.runtime.default_agent.clone())
    }
}

impl Whom {
    pub(super) fn name(&self) -> Option<&str> {
        self.agent.as_deref().or(self.named.as_deref())
    }
}

fn boxed<'a, F>(work: impl FnOnce(ClientContext, Ending) -> F + 'a) -> Work<'a>
where
    F: Future<Output = Result<Exit, Failure>> + 'a,
{
    Box::new(move |cli, ending| Box::pin(work(cli, ending)))
}

/// A failure for want of an agent names the nearest one that there is.
async fn near(client: &Client, agent: &AgentId, failure: Failure) -> Result<Failure, Failure> {
    let unknown =
        failure.error.downcast_ref().is_some_and(|error: &ClientError| error.code() == Some("unknown_agent"));
    if !unknown {
        return Ok(failure);
    }
    let Ok(known) = client.agents(ListQuery { limit: Some(NEAR), all: true, ..ListQuery::default() }).await
    else {
        return Ok(failure);
    };
    let names = known.agents.iter().flat_map(|known| names(known));
    let near = did_you_mean(agent.as_str(), names);
    let error = anyhow!("{}{near}", failure.error);
    Ok(Failure { error, ..failure })
}

/// Everything that an agent can be called.
pub(super) fn names(agent: &Listed) -> impl Iterator<Item = &str> {
    let name = agent.standing().and_then(|standing| standing.label.name.as_ref());
    [Some(agent.agent_id()), name].into_iter().flatten().map(AgentId::as_str)
}

fn same_folder(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// One of several words, as the value that it stands for.
pub(super) fn one_of<T: Copy + std::fmt::Display + Send + Sync + 'static>(
    all: &'static [T],
) -> impl TypedValueParser<Value = T> {
    let words = PossibleValuesParser::new(all.iter().map(ToString::to_string));
    words.try_map(|word| all.iter().copied().find(|one| one.to_string() == word).ok_or("an unknown word"))
}
