//! `holon config doctor`: what it found, and what to do.

use serde_json::json;

use super::ConfigHome;
use crate::cli::exit::Exit;
use crate::cli::hints;
use crate::cli::output::{self, Failure};
use crate::doctor::{Level, examine};

pub(super) fn doctor(cfg: &ConfigHome) -> Result<Exit, Failure> {
    let findings = examine(&cfg.home, &cfg.home_origin, &cfg.environment);
    let count = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
    let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
    let document = json!({ "findings": findings, "problems": problems, "warnings": warnings });
    cfg.print(&document, || {
        for finding in &findings {
            let what = output::error_with_home(&finding.what);
            output::line(&format!("{:8} {}: {what}", finding.level.to_string(), finding.check))?;
            if let Some(remedy) = &finding.remedy {
                output::line(&format!("{:8}   try: {}", "", hints::hint(remedy)))?;
            }
        }
        let counted = |count, what| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let (problems, warnings) = (counted(problems, "problem"), counted(warnings, "warning"));
        Ok(output::line(&format!("{problems}, {warnings}"))?)
    })?;
    Ok(if problems == 0 { Exit::Completed } else { Exit::Failed })
}
