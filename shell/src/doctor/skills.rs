//! Skills of the default agent and of the user: how many there are, and which are not offered.

use std::path::Path;

use holon_facts::AgentId;
use holon_platform::Environment;
use holon_supervise::confine::Readable;

use super::Finding;
use crate::home::Home;
use crate::settings::Settings;
use crate::skills::Standing;

const CHECK: &str = "skills";
/// Skills that are named.
const NAMED: usize = 8;

/// Skills of workspaces are left out: which one an agent works in is in the ledger, and `holon skills list` shows them.
pub(super) fn examine(home: &Home, settings: &Settings, environment: &Environment) -> Vec<Finding> {
    // A name that is none is reported with the settings.
    let Ok(agent) = AgentId::new(&settings.server.default_agent) else { return Vec::new() };
    let place = home.agent(&agent);
    let listing =
        settings.skills.skills(environment).find(&place, &place, (true, false), &Readable::default());
    let (offered, others): (Vec<_>, Vec<_>) =
        listing.found.iter().partition(|found| found.standing == Standing::Offered);
    let what = format!("{} of {agent} and of the user can be used", count(offered.len()));
    let mut findings = vec![Finding::fine(CHECK, what)];
    let problems = others.iter().map(|found| {
        let what = format!("{} is not offered: {}", found.skill_id, found.standing);
        Finding::warning(CHECK, what, look(&found.entrypoint))
    });
    let roots = listing
        .problems
        .iter()
        .map(|problem| Finding::warning(CHECK, problem.clone(), format!("holon skills list {agent} --all")));
    let all: Vec<Finding> = problems.chain(roots).collect();
    let more = all.len().saturating_sub(NAMED);
    findings.extend(all.into_iter().take(NAMED));
    if more > 0 {
        let what = format!("{more} more things are wrong with skills");
        findings.push(Finding::warning(CHECK, what, format!("holon skills list {agent} --all")));
    }
    findings
}

fn look(entrypoint: &Path) -> String {
    let folder = entrypoint.parent().unwrap_or(entrypoint);
    format!("ls -l {}", crate::settings::quoted(&folder.display().to_string()))
}

fn count(skills: usize) -> String {
    if skills == 1 { "1 skill".to_owned() } else { format!("{skills} skills") }
}
