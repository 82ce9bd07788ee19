//! The index that agents search: that it can be used, and how far it is.

use holon_memory::Index;

use super::Finding;
use crate::home::Home;
use crate::memory::index_path;
use crate::settings::quoted;

const CHECK: &str = "memory";

pub(super) fn examine(home: &Home) -> Vec<Finding> {
    let path = index_path(home);
    let shown = path.display();
    let reindex = "holon memory reindex";
    match Index::look(&path) {
        Ok(None) => vec![Finding::fine(CHECK, format!("{shown} is made when something is searched"))],
        Ok(Some(Ok(through))) => {
            let last = home.ledger().reader().and_then(|ledger| ledger.last_of_all());
            let behind = last.map_or(0, |last| last.0.saturating_sub(through));
            let state = match behind {
                0 => "is up to date".to_owned(),
                _ => format!("is {behind} records behind the ledger, and follows when it is used"),
            };
            vec![Finding::fine(CHECK, format!("{shown} {state}"))]
        }
        Ok(Some(Err(why))) => {
            let what =
                format!("{shown} can't be used: {why}; the next search puts it aside and fills a new one");
            vec![Finding::warning(CHECK, what, reindex)]
        }
        Err(error) => {
            let look = format!("ls -l {}", quoted(&path.display().to_string()));
            vec![Finding::problem(CHECK, format!("{shown}: {error}"), look)]
        }
    }
}
