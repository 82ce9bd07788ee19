//! `holon config get|set|unset|list|schema`.

use anyhow::anyhow;
use holon_platform::Environment;
use serde_json::json;

use super::{ConfigHome, save, told};
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};
use crate::settings::{self, Editor, Entry, Origin, kind_of, nearest_key};

pub(super) fn get(cfg: &ConfigHome, name: &str) -> Result<Exit, Failure> {
    let (settings, problems) = cfg.survey()?;
    let name = &settings::canonical(name);
    let Some(entry) = settings.entry(name) else { return Err(no_key(name)) };
    let (own, others): (Vec<_>, Vec<_>) = problems.into_iter().partition(|problem| problem.key == *name);
    told(&others);
    if let Some(problem) = own.into_iter().next() {
        let hint = problem.remedy.clone();
        return Err(Failure::usage(problem).hint(hint));
    }
    cfg.print(&entry, || Ok(output::line(&entry.text())?))?;
    Ok(Exit::Completed)
}

pub(super) fn set(cfg: &ConfigHome, name: &str, text: &str) -> Result<Exit, Failure> {
    let name = &settings::canonical(name);
    let kind = kind_of(name).ok_or_else(|| no_key(name))?;
    let value = kind.parse(text);
    kind.check(&value).map_err(|what| {
        let hint = format!("holon config get {name}, to see what it is now");
        Failure::usage(anyhow!("{name}: {what}")).hint(hint)
    })?;
    let mut editor = Editor::config(&cfg.home)?;
    editor.set(name, value)?;
    let written = editor.settings(&Environment::default())?.entry(name);
    save(editor)?;
    changed(cfg, written.ok_or_else(|| no_key(name))?, "set")
}

pub(super) fn unset(cfg: &ConfigHome, name: &str) -> Result<Exit, Failure> {
    let name = &settings::canonical(name);
    let mut editor = Editor::config(&cfg.home)?;
    let known = kind_of(name).is_some();
    if settings::is_group(name)
        && !["providers.", "models.", "mcp.servers."].iter().any(|table| name.starts_with(table))
    {
        let error = anyhow!("{name} is a group of keys; name one of them");
        return Err(Failure::usage(error).hint("holon config list"));
    }
    if !editor.unset(name)? {
        if !known {
            return Err(no_key(name));
        }
        let error = anyhow!("{name} is not set in {}", cfg.home.config().display());
        return Err(Failure::new(Exit::NotFound, error).hint("holon config list"));
    }
    save(editor)?;
    let unset = Entry { key: name.to_owned(), value: json!(null), origin: Origin::Default };
    changed(cfg, cfg.survey()?.0.entry(name).unwrap_or(unset), "unset")
}

pub(super) fn list(cfg: &ConfigHome) -> Result<Exit, Failure> {
    let (settings, problems) = cfg.survey()?;
    let entries = settings.entries();
    let document = json!({
        "home": { "path": cfg.home.root(), "origin": cfg.home_origin },
        "values": entries,
        "problems": problems,
    });
    cfg.print(&document, || {
        let home = cfg.home.root().display().to_string();
        let mut rows = vec![vec!["home".to_owned(), home, cfg.home_origin.to_string()]];
        rows.extend(
            entries.iter().map(|entry| vec![entry.key.clone(), entry.text(), entry.origin.to_string()]),
        );
        output::table(&rows)?;
        told(&problems);
        Ok(())
    })?;
    Ok(Exit::Completed)
}

pub(super) fn schema() -> Result<Exit, Failure> {
    output::line(&output::pretty(&settings::schema())?)?;
    Ok(Exit::Completed)
}

/// Says what a key is now, and when something stronger than the file hides it.
fn changed(cfg: &ConfigHome, entry: Entry, done: &str) -> Result<Exit, Failure> {
    let variable = settings::variable_of(&entry.key).filter(|name| cfg.environment.get(name).is_some());
    if let Some(variable) = variable {
        output::note(&format!("holon: {variable} is set and wins over the file"));
    }
    let file = cfg.home.config().display().to_string();
    let document = json!({ "key": entry.key, "value": entry.value, "done": done, "file": file });
    cfg.print(&document, || {
        let now = match done {
            "set" => format!("{} = {}", entry.key, entry.text()),
            _ => format!("{} is not set any more", entry.key),
        };
        Ok(output::line(&format!("{now} ({file})"))?)
    })?;
    Ok(Exit::Completed)
}

fn no_key(name: &str) -> Failure {
    let error = anyhow!("there is no key {name}{}", nearest_key(name));
    Failure::new(Exit::NotFound, error).hint("holon config list")
}
