//! M4: the latest state that a request shows of work items, waits, environment and instruction files, in its head or in
//! changes, is their state when its run began, by the records.

use std::collections::BTreeMap;

use holon_facts::frame::Part;
use holon_facts::model::{Item, ModelRequest};
use holon_facts::outcome::LoadedContext;
use holon_facts::{AgentId, Text};

use super::compare::{given, leaves, rendered};
use super::talk::Expected;
use super::work::NOTHING;
use crate::failure::{Failure, ensure};

/// The state that a request shows: a later part replaces an earlier one.
#[derive(Debug, Default)]
struct Stands {
    work: Option<String>,
    environment: Option<String>,
    files: BTreeMap<String, Text>,
}

/// Checks a request; returns how many changes it shows.
pub(super) fn check(request: &ModelRequest, expected: &Expected) -> Result<u64, Failure> {
    let mut stands = Stands::default();
    stands.head(request);
    let mut changes = 0;
    for item in &request.conversation {
        let Item::User { parts } = item else { continue };
        for pair in parts.windows(2) {
            if let [Part::Rendered(heading), Part::Quoted { parts, .. }] = pair {
                changes += u64::from(stands.changes(heading, parts));
            }
        }
    }
    let agent = &request.agent;
    let work = stands.work.as_deref().filter(|work| *work != NOTHING).unwrap_or_default();
    let due = &*expected.stands.work;
    ensure!(work == due, "M4", "work of {agent} is {due:?}, shown is {work:?}");
    if let Some(context) = &expected.stands.context {
        let environment = stands.environment.as_deref().unwrap_or_default();
        surroundings(agent, environment, context, expected.stands.trigger)?;
        files(agent, &stands.files, context)?;
    }
    Ok(changes)
}

impl Stands {
    fn head(&mut self, request: &ModelRequest) {
        let frame = &request.frame;
        for block in frame.system_blocks.iter().chain(&frame.context_blocks) {
            let words = || rendered(&leaves(&block.parts));
            match block.label.as_str() {
                "execution_environment" => self.environment = Some(words()),
                "agent_instructions" | "workspace_instructions" => {
                    self.file("Instructions from ", &block.parts)
                }
                "curated_memory" => self.notes(&leaves(&block.parts)),
                "work_items" => {
                    let quoted = block.parts.iter().find_map(|part| match part {
                        Part::Quoted { parts, .. } => Some(rendered(&leaves(parts))),
                        Part::Rendered(_) | Part::Given(_) | Part::Image(_) | Part::Excerpt { .. } => None,
                    });
                    self.work = quoted;
                }
                _ => {}
            }
        }
    }

    /// Reads a fence under its heading; returns whether it shows a change.
    fn changes(&mut self, heading: &str, quoted: &[Part]) -> bool {
        let words = rendered(&leaves(quoted));
        if heading.starts_with("[your work items and waits now]") {
            self.work = Some(words);
        } else if heading.starts_with("[your execution environment now") {
            self.environment = Some(words);
        } else if ["[instruction file as it is now", "[your memory file as it is now"]
            .iter()
            .any(|begin| heading.starts_with(begin))
        {
            self.file("", quoted);
        } else if heading.starts_with("[files that no longer hold]") {
            words.lines().for_each(|path| drop(self.files.remove(path)));
        } else {
            return false;
        }
        true
    }

    /// Reads memory files, each behind its path.
    fn notes(&mut self, parts: &[&Part]) {
        for pair in parts.windows(2) {
            if let [Part::Rendered(path), Part::Given(text)] = pair {
                let path = path.trim().trim_end_matches(':').to_owned();
                self.files.insert(path, text.clone());
            }
        }
    }

    /// Reads a file, which its path precedes.
    fn file(&mut self, prefix: &str, parts: &[Part]) {
        let words = rendered(&leaves(parts));
        let path = words.strip_prefix(prefix).and_then(|words| words.lines().next()).unwrap_or_default();
        let path = path.trim_end_matches(':').split(", imported by ").next().unwrap_or_default();
        let text = leaves(parts).into_iter().find_map(given).cloned();
        self.files.remove(path);
        self.files.extend(text.filter(|text| !text.is_empty()).map(|text| (path.to_owned(), text)));
    }
}

/// Each recorded fact about an agent's surroundings has its line.
fn surroundings(agent: &AgentId, shown: &str, context: &LoadedContext, trigger: bool) -> Result<(), Failure> {
    let here = &context.execution;
    let programs = format!("Programs that are installed: {}", here.programs.join(", "));
    let due = [
        format!("Execution root: {}", here.binding.execution_root),
        format!("Current folder: {}", here.binding.cwd),
        format!("Workspace: {}", here.binding.workspace_anchor),
        format!("Platform: {}, shell {}", here.platform, here.shell),
        format!("Agent home: {}", here.agent_home),
        if here.programs.is_empty() { String::new() } else { programs },
    ];
    let missing = due.iter().find(|due| !due.is_empty() && !shown.lines().any(|line| line == due.as_str()));
    ensure!(missing.is_none(), "M4", "{agent} is not shown {missing:?}, but {shown:?}");
    let named = shown.contains("HOLON_EXTERNAL_TRIGGER_URL");
    ensure!(named == trigger, "M4", "whether others can wake {agent} is {trigger}, shown is {shown:?}");
    Ok(())
}

/// Each instruction file in force and each memory file is shown as it is, and no other one.
fn files(agent: &AgentId, shown: &BTreeMap<String, Text>, context: &LoadedContext) -> Result<(), Failure> {
    let due = context.sources.iter().filter(|source| !source.content.is_empty());
    let due: BTreeMap<String, Text> =
        due.map(|source| (source.path.clone(), source.content.clone())).collect();
    ensure!(*shown == due, "M4", "instructions and notes of {agent} are {due:?}, shown are {shown:?}");
    Ok(())
}
