//! `ViewImage`: the bytes of an image file, as they are. An agent sees the files that it can read with a command; a confined
//! one those below the folders that it may go to.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use holon_core::tool::{ViewImage, arguments};
use holon_facts::image::{BYTES, Image};
use holon_facts::receipt::{ToolErrorKind, ToolFacts};
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, ContentId};
use holon_platform::spawn;
use holon_supervise::confine::Confinement;
use holon_text::Texts;
use serde::Serialize;

use super::root::Root;
use super::{Refusal, Settings, Success};
use crate::images;

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
    let bytes = reach.read(path)?;
    images::take(texts, path, &bytes).map_err(|error| invalid(path, &error.to_string(), error.hint()))
}

impl Reach {
    /// The bytes of a file, and one more than an image may have where it has more. Nothing that could be waited for is
    /// opened.
    fn read(&self, path: &str) -> Result<Vec<u8>, Refusal> {
        let wanted = Path::new(&self.cwd).join(path);
        let place = wanted.canonicalize().map_err(|problem| unreadable(path, &problem))?;
        self.allows(path, &place)?;
        let about = fs::metadata(&place).map_err(|problem| unreadable(path, &problem))?;
        is_file(path, &about)?;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NOCTTY;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&place);
        let file = file.map_err(|problem| unreadable(path, &problem))?;
        self.allows(path, &opened(&file).map_err(|problem| unreadable(path, &problem))?)?;
        let about = file.metadata().map_err(|problem| unreadable(path, &problem))?;
        is_file(path, &about)?;
        if about.len() > BYTES {
            let error = images::ImageError::TooLarge { bytes: about.len() };
            return Err(invalid(path, &error.to_string(), error.hint()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default());
        // It may grow meanwhile.
        file.take(BYTES + 1).read_to_end(&mut bytes).map_err(|problem| unreadable(path, &problem))?;
        Ok(bytes)
    }

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

fn is_file(path: &str, about: &Metadata) -> Result<(), Refusal> {
    if about.is_file() {
        return Ok(());
    }
    let (what, hint) = if about.is_dir() {
        ("is a folder", "name a file in it; list it to see what is there")
    } else {
        ("is no regular file: a pipe, a socket or a device", "copy what it gives into a file with a command")
    };
    Err(invalid(path, what, hint))
}

fn unreadable(path: &str, problem: &io::Error) -> Refusal {
    let unread = format!("it can't be read: {problem}");
    let (problem, hint) = if problem.kind() == ErrorKind::NotFound {
        let hint = "a relative path begins at the current folder; list it to see what is there";
        ("there is no such file".to_owned(), hint)
    } else {
        (unread, "look at it and its permissions with a command: ls -l")
    };
    invalid(path, &problem, hint)
}

fn invalid(path: &str, problem: &str, hint: &str) -> Refusal {
    Refusal::new(ToolErrorKind::InvalidToolInput, format!("{path}: {problem}")).hint(hint)
}
