//! Templates that an id names: those that can't be used.

use holon_platform::Environment;

use super::Finding;
use crate::home::Home;
use crate::settings::quoted;
use crate::templates::Templates;

const CHECK: &str = "templates";
/// Templates that are named.
const NAMED: usize = 8;

pub(super) fn examine(home: &Home, environment: &Environment) -> Vec<Finding> {
    let templates = Templates::new(home, environment);
    let listed = match templates.list() {
        Ok(listed) => listed,
        Err(error) => {
            let folder = templates.folder().map(|folder| folder.display().to_string()).unwrap_or_default();
            let remedy = format!("ls -ld {}", quoted(&folder));
            return vec![Finding::problem(CHECK, error.to_string(), remedy)];
        }
    };
    let usable = listed.iter().filter(|one| one.found.is_ok()).map(|one| one.id.as_str());
    let usable: Vec<&str> = usable.take(NAMED).collect();
    let mut findings = vec![Finding::fine(CHECK, format!("there are {}", usable.join(", ")))];
    let broken = listed.iter().filter_map(|one| Some((&one.id, one.found.as_ref().err()?)));
    findings.extend(broken.take(NAMED).map(|(id, error)| {
        Finding::warning(CHECK, format!("{id} can't be used: {error}"), format!("holon template check {id}"))
    }));
    findings
}
