//! What a template is made of.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use holon_facts::content::clip;
use serde::Deserialize;

use super::TemplateError;
use super::apply::GUIDANCE;

/// Bytes of its `AGENTS.md`: with what follows it in the home of an agent, and the end of a line between them, as many as
/// requests show.
const INSTRUCTION_BYTES: u64 = (64 << 10) - 1 - GUIDANCE.len() as u64;
/// Bytes of its `skills.json`.
const LIST_BYTES: u64 = 64 << 10;
/// Skills that it names.
const SKILLS: usize = 32;

/// What a new agent begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its standing instructions, as they stand in `AGENTS.md`.
    pub instructions: String,
    /// Where its skills come from, in order.
    pub skill_refs: Vec<String>,
}

/// `skills.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SkillList {
    skill_refs: Vec<String>,
}

impl Template {
    /// The template in that folder. Other files there are nobody's business.
    ///
    /// # Errors
    /// With the file that is missing or wrong.
    pub fn in_folder(folder: &Path) -> Result<Self, TemplateError> {
        let about = fs::metadata(folder).map_err(|problem| unusable(folder, problem))?;
        if !about.is_dir() {
            return Err(invalid(folder, "it is no folder"));
        }
        let file = folder.join("AGENTS.md");
        let Some(instructions) = text(folder, &file, INSTRUCTION_BYTES)? else {
            return Err(invalid(folder, "it has no AGENTS.md, which every template needs"));
        };
        if instructions.trim().is_empty() {
            return Err(invalid(&file, "it is empty"));
        }
        Ok(Self { instructions, skill_refs: skill_refs(folder)? })
    }

    /// The first line that says something: what a list shows of it.
    pub fn summary(&self) -> String {
        let plain = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let line = self.instructions.lines().map(str::trim).find(plain);
        clip(line.unwrap_or_default(), 100)
    }
}

fn skill_refs(folder: &Path) -> Result<Vec<String>, TemplateError> {
    let file = folder.join("skills.json");
    let Some(text) = text(folder, &file, LIST_BYTES)? else { return Ok(Vec::new()) };
    let list: Result<SkillList, _> = serde_json::from_str(&text);
    let SkillList { skill_refs } =
        list.map_err(|error| invalid(&file, &format!("expected {{\"skill_refs\": [\"…\"]}}: {error}")))?;
    if skill_refs.len() > SKILLS {
        return Err(invalid(&file, &format!("it names {} skills, the most are {SKILLS}", skill_refs.len())));
    }
    Ok(skill_refs)
}

/// A text file of the template; none where there is none. What a link leads to has to be within the folder.
fn text(folder: &Path, file: &Path, most: u64) -> Result<Option<String>, TemplateError> {
    let real = match file.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == ErrorKind::NotFound && file.symlink_metadata().is_err() => {
            return Ok(None);
        }
        Err(problem) => return Err(unusable(file, problem)),
    };
    let root = folder.canonicalize().map_err(|problem| unusable(folder, problem))?;
    if !real.starts_with(root) {
        return Err(invalid(file, "it is a link that leaves the template"));
    }
    // Asked before opening: opening a pipe would wait for a writer.
    let about = fs::metadata(&real).map_err(|problem| unusable(file, problem))?;
    if !about.is_file() {
        return Err(invalid(file, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    let read = File::open(&real).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    read.map_err(|problem| unusable(file, problem))?;
    if bytes.len() as u64 > most {
        return Err(invalid(file, &format!("it has more than {most} bytes")));
    }
    match String::from_utf8(bytes) {
        // Some editors begin a text with a mark that is no part of it.
        Ok(text) if !text.contains('\0') => Ok(Some(text.trim_start_matches('\u{feff}').to_owned())),
        Ok(_) | Err(_) => Err(invalid(file, "it is no text in UTF-8")),
    }
}

pub(super) fn invalid(path: &Path, problem: &str) -> TemplateError {
    TemplateError::Invalid { path: path.to_owned(), problem: problem.to_owned() }
}

pub(super) fn unusable(path: &Path, problem: impl Into<io::Error>) -> TemplateError {
    TemplateError::Unusable { path: path.to_owned(), problem: problem.into() }
}
