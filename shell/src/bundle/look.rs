//! Bundles of others: what is in them, whether that holds together, and their decisions made again.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holon_core::replay::Replay;
use holon_facts::ContentId;
use holon_law::replay::{Again, AuditReport, ExportReader, Line};
use holon_ledger::sqlite::{ImportError, import_with_texts};
use holon_platform::hex;
use serde::Serialize;

use super::{CONTENTS, DESCRIPTION, Description, FORMAT, KIND, RECORDER, RECORDS};
use crate::archive::{self, ArchiveError, Member};

/// The longest text that is compared with its hash, in bytes.
const LONGEST_TEXT: u64 = 256 << 20;

/// What is in a bundle.
#[derive(Debug, Serialize)]
pub struct Looked {
    #[serde(flatten)]
    pub description: Description,
    pub files: Vec<(String, u64)>,
}

/// What of a bundle is in order.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Verified {
    /// Records of the agent.
    pub records: u64,
    /// Records of all agents: they fold, and break no law.
    pub judged: u64,
    pub agents: u64,
    /// Texts that are what their names say.
    pub texts: u64,
}

/// A bundle that is not in order.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("{path} has the layout {found} of build {build}, this build knows up to {FORMAT}", path = path.display())]
    Newer { path: PathBuf, found: u64, build: String },
    #[error("{path} is not in order: {problem}", path = path.display())]
    Wrong { path: PathBuf, problem: String },
    #[error("{path} makes no ledger: {source}", path = path.display())]
    Import { path: PathBuf, source: ImportError },
    #[error("a temporary file can't be written: {0}")]
    Temporary(#[from] io::Error),
}

/// What a bundle says of itself, and the files in it.
///
/// # Errors
/// When it is no bundle that this build can read, or is not whole.
pub fn inspect(path: &Path) -> Result<Looked, LookError> {
    let description = described(path)?;
    let mut files = Vec::new();
    archive::read::<LookError>(path, &mut |member| {
        if let Member::File { path, bytes, .. } = member {
            files.push((path.display().to_string(), bytes));
        }
        Ok(())
    })?;
    Ok(Looked { description, files })
}

/// Checks that it is whole, that its records fold and break no law, and that its texts are what their names say.
///
/// # Errors
/// The first problem.
pub fn verify(path: &Path) -> Result<Verified, LookError> {
    let unpacked = Unpacked::of(path)?;
    let report = unpacked.again(path, Again::Nobody)?;
    let (description, wrong) =
        (&unpacked.description, |problem| LookError::Wrong { path: path.to_owned(), problem });
    if report.judged != description.recorder.records {
        let problem =
            format!("{} records are there, {} were written", report.judged, description.recorder.records);
        return Err(wrong(problem));
    }
    let expected = description.to.0 + 1 - description.from.0;
    if unpacked.records != expected {
        return Err(wrong(format!("{} records of the agent are there, not {expected}", unpacked.records)));
    }
    let (judged, agents) = (report.judged, report.agents);
    Ok(Verified { records: unpacked.records, judged, agents, texts: unpacked.texts })
}

/// Makes its decisions again, of the build that made it or of all.
///
/// # Errors
/// The first decision that differs, or what else is not in order.
pub fn replay(path: &Path, again: Again) -> Result<(Description, AuditReport), LookError> {
    let unpacked = Unpacked::of(path)?;
    let report = unpacked.again(path, again)?;
    Ok((unpacked.description, report))
}

/// Makes a ledger of its records and texts in a folder that nobody else uses, to be looked at.
///
/// # Errors
/// When it is not in order, or the folder can't be written to.
pub fn unpack(path: &Path, folder: &Path, ledger: &Path) -> Result<Description, LookError> {
    let texts = folder.join(CONTENTS);
    fs::create_dir(&texts)?;
    let file = |id: ContentId| texts.join(id.to_string());
    let unpacked = Unpacked::keeping(path, |id, text| fs::write(file(id), text))?;
    let mut recorder = &unpacked.recorder;
    recorder.rewind()?;
    // What nobody kept, or what is no text, is shown as such.
    let text = |id| fs::read_to_string(file(id)).ok().map(Arc::from);
    import_with_texts(BufReader::new(recorder), ledger, text)
        .map_err(|source| LookError::Import { path: path.to_owned(), source })?;
    Ok(unpacked.description)
}

fn described(path: &Path) -> Result<Description, LookError> {
    let text = archive::beginning(path, KIND, DESCRIPTION)?;
    let not_one = |error: serde_json::Error| {
        let problem = format!("{DESCRIPTION}: {error}");
        ArchiveError::NotOne { path: path.to_owned(), kind: KIND, problem }
    };
    let loose: serde_json::Value = holon_facts::json::read(&text).map_err(not_one)?;
    let found = loose["format"].as_u64().unwrap_or(0);
    if found > FORMAT.into() {
        let build = loose["build"].as_str().unwrap_or("another").to_owned();
        return Err(LookError::Newer { path: path.to_owned(), found, build });
    }
    Ok(serde_json::from_value(loose).map_err(not_one)?)
}

/// A bundle that was read to its end.
struct Unpacked {
    description: Description,
    recorder: File,
    records: u64,
    texts: u64,
}

impl Unpacked {
    fn of(path: &Path) -> Result<Self, LookError> {
        Self::keeping(path, |_, _| Ok(()))
    }

    /// `keep` gets each text.
    fn keeping(
        path: &Path,
        mut keep: impl FnMut(ContentId, &[u8]) -> io::Result<()>,
    ) -> Result<Self, LookError> {
        let description = described(path)?;
        let mut unpacked = Self { description, recorder: tempfile::tempfile()?, records: 0, texts: 0 };
        archive::read::<LookError>(path, &mut |member| {
            let Member::File { path: name, mut content, .. } = member else { return Ok(()) };
            let wrong = |problem: String| LookError::Wrong { path: path.to_owned(), problem };
            if name == Path::new(RECORDER) {
                io::copy(&mut content, &mut unpacked.recorder)?;
            } else if name == Path::new(RECORDS) {
                for line in BufReader::new(content).lines() {
                    unpacked.record(&line?).map_err(wrong)?;
                }
            } else if let Ok(id) = name.strip_prefix(CONTENTS) {
                let id = hex::read(&id.display().to_string()).map(ContentId);
                let id = id.ok_or_else(|| wrong(format!("{} is no hash", name.display())))?;
                let text = content.whole(LONGEST_TEXT)?;
                if holon_text::hash(&text) != id {
                    return Err(wrong(format!("{} is another text", name.display())));
                }
                keep(id, &text)?;
                unpacked.texts += 1;
            }
            Ok(())
        })?;
        Ok(unpacked)
    }

    /// The records of the agent, one after the other.
    fn record(&mut self, line: &str) -> Result<(), String> {
        let Line::Record(record) = Line::parse(line).map_err(|error| error.to_string())? else {
            return Err(format!("{RECORDS} has a call"));
        };
        let expected = self.description.from.0 + self.records;
        if record.agent != self.description.agent_id || record.event_seq.0 != expected {
            return Err(format!(
                "{RECORDS} has {} #{} where #{expected} belongs",
                record.agent, record.event_seq
            ));
        }
        self.records += 1;
        Ok(())
    }

    fn again(&self, path: &Path, again: Again) -> Result<AuditReport, LookError> {
        let wrong = |problem: String| LookError::Wrong { path: path.to_owned(), problem };
        let mut reader = ExportReader::<Replay>::new(again);
        let mut recorder = &self.recorder;
        recorder.rewind()?;
        for line in BufReader::new(recorder).lines() {
            reader.line(&line?).map_err(|error| wrong(format!("{RECORDER}, {error}")))?;
        }
        reader.finish().map_err(|error| wrong(format!("{RECORDER}, {error}")))
    }
}
