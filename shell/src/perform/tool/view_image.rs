//! `ViewImage`: the bytes of an image file, as they are. An agent sees the files that it can read with a command; a confined
//! one those below the folders that it may go to.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use holon_core::tool::{ViewImage, arguments};
use holon_facts::image::Image;
use holon_facts::receipt::{ToolErrorKind, ToolFacts};
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, ContentId};
use holon_platform::spawn;
use holon_supervise::confine::Confinement;
use holon_text::Texts;
use serde::Serialize;

use super::root::Root;
use super::{Refusal, Settings, Success};
use crate::images::{self, ImageError};

/// What the model reads beside the image.
#[derive(Serialize)]
struct Seen<'a> {
    path: &'a str,
    format: &'static str,
    width: u32,
    height: u32,
    bytes: u64,
    sha256: ContentId,
}

/// Where an agent may look.
struct Reach {
    root: Root,
    cwd: String,
    confinement: Option<(Confinement, PathBuf)>,
}

pub(super) async fn run(
    texts: &Texts,
    settings: &Settings,
    (agent, execution): (&AgentId, &ExecutionBinding),
    arguments: &str,
) -> Result<Success, Refusal> {
    let asked: ViewImage = arguments::parse(arguments)?;
    let confinement = settings.confinement.clone().map(|held| (held, settings.real_agent_home(agent)));
    let root = Root::open(&execution.execution_root, confinement.is_some())?;
    let reach = Reach { root, cwd: execution.cwd.clone(), confinement };
    let texts = texts.clone();
    let work = spawn::blocking(move || {
        let image = see(&texts, &reach, &asked.path).map_err(|refusal| refusal.field("path"))?;
        let Image { format, width, height, bytes, sha256, .. } = image;
        let seen = Seen { path: &asked.path, format: format.name(), width, height, bytes, sha256 };
        let content = serde_json::to_string(&seen).unwrap_or_default();
        Ok(Success { content, facts: ToolFacts::default(), images: vec![image] })
    });
    work.await.map_err(|problem| {
        Refusal::new(ToolErrorKind::ToolExecutionFailed, format!("the image was not read: {problem}"))
    })?
}

fn see(texts: &Texts, reach: &Reach, path: &str) -> Result<Image, Refusal> {
    let refused = |error: ImageError| {
        Refusal::new(ToolErrorKind::InvalidToolInput, format!("{path}: {error}")).hint(error.hint())
    };
    let place = Path::new(&reach.cwd).join(path).canonicalize().map_err(|problem| refused(problem.into()))?;
    reach.allows(path, &place)?;
    let file = images::open(&place).map_err(refused)?;
    reach.allows(path, &opened(&file).map_err(|problem| refused(problem.into()))?)?;
    let bytes = images::read(file).map_err(refused)?;
    images::take(texts, path, &bytes).map_err(refused)
}

impl Reach {
    /// A confined agent looks where it may work.
    fn allows(&self, path: &str, place: &Path) -> Result<(), Refusal> {
        let Some((confinement, agent_home)) = &self.confinement else { return Ok(()) };
        let root = self.root.path().to_string_lossy().into_owned();
        if confinement.may_use(place, &[root], agent_home) {
            return Ok(());
        }
        let message = format!(
            "{path} leads to {}, which is outside of the folders that this agent is confined to",
            place.display()
        );
        Err(Refusal::new(ToolErrorKind::ExecutionRootViolation, message)
            .hint("copy the file into the execution root with a command, and view the copy"))
    }
}

/// Where a file that is open really is: names that lead to it may have changed since.
fn opened(file: &File) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
