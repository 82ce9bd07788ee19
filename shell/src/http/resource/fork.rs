//! A new agent that begins as a copy of another.

use std::path::Path;

use holon_api::rows::CopyAgent;
use holon_api::{Code, ForkAgent, Forked, GivenAnswer, Json};
use holon_facts::Reject;
use holon_facts::event::workspace::WorkspaceTreeKept;
use holon_facts::workspace::{ExecutionBinding, ProjectionKind};
use holon_ledger::write::{Fork, ForkError, Past};
use holon_text::hash;

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::control::claim;
use super::models::check;
use crate::driver::ForkOrder;
use crate::runtime::Unavailable;
use crate::workplace::give_back;

pub(in super::super) async fn fork(app: App, call: Call<CopyAgent>) -> Handled<Forked> {
    let (from, Json(ForkAgent { agent_id, event_seq, model, answer, files })) =
        (call.path.agent_id, call.body);
    if let Some(model) = &model {
        check(&app, model).await?;
    }
    if let Some(answer) = &answer {
        check_answer(answer)?;
    }
    let claim = claim(&app, &agent_id).await?;
    let fork =
        Fork { from: from.clone(), at: event_seq, to: agent_id.clone(), answer_given: answer.is_some() };
    let files = if files { files_of(&app, &fork).await.map(Some) } else { Ok(None) };
    let execution = match files {
        Ok(execution) => execution,
        Err(failure) => {
            claim.give_back().await;
            return Err(failure);
        }
    };
    let execution_root = execution.as_ref().map(|execution| execution.execution_root.clone());
    let forked = app.runtime.fork(ForkOrder { fork, model, answer, execution }).await?;
    match &forked {
        Ok(_) => claim.had(),
        Err(error) if is_nobody(error) => claim.give_back().await,
        // Dropped where it is not known.
        Err(_) => {}
    }
    let through = forked.map_err(refused)?;
    let agent_home = app.home.agent(&agent_id).display().to_string();
    Ok(Forked { ok: true, agent_id, forked_from: from, event_seq: through, agent_home, execution_root })
}

fn check_answer(answer: &GivenAnswer) -> Handled<()> {
    if answer.text.as_ref().is_none_or(|text| text.trim().is_empty()) && answer.calls.is_empty() {
        let problem = "an answer has a text, calls of tools, or both";
        return Err(Failure::new(Code::InvalidBody, problem).detail("field", "answer"));
    }
    Ok(())
}

/// A worktree with the files of that moment.
async fn files_of(app: &App, fork: &Fork) -> Handled<ExecutionBinding> {
    let asked = fork.clone();
    let past = move |app: &App| Ok(Past::read(&app.reader, &asked).map(|past| past.files().cloned()));
    let kept = app.blocking(past).await?.map_err(refused)?.ok_or_else(|| {
        let problem = format!("no files of {} are on record up to that event", fork.from);
        Failure::new(Code::InvalidWorkspace, problem)
            .hint("files are kept of git repositories that an operator has named (runtime.workspace_trees)")
            .detail("field", "files")
    })?;
    let WorkspaceTreeKept { execution: then, kept, .. } = kept;
    let home = app.home.root().canonicalize().unwrap_or_else(|_| app.home.root().to_owned());
    let path = home.join("worktrees").join(fork.to.as_str()).join("fork");
    let place = hash(path.display().to_string().as_bytes()).to_string();
    let branch = format!("holon/{}/fork-{}", fork.to, &place[..8]);
    let root = Path::new(&then.execution_root);
    let confinement = app.about.confinement.as_ref();
    let bound = confinement.map(|_| Path::new(&then.workspace_anchor));
    let program = holon_supervise::program();
    let root =
        give_back(root, &kept, (&path, &branch), (&program, confinement), bound).await.map_err(|error| {
            Failure::new(Code::InvalidWorkspace, format!("the files of that moment can't be had: {error}"))
                .hint("fork without files")
                .detail("field", "files")
        })?;
    let inside = Path::new(&then.cwd).strip_prefix(&then.execution_root).unwrap_or(Path::new(""));
    let cwd = Some(root.join(inside)).filter(|cwd| cwd.is_dir()).unwrap_or_else(|| root.clone());
    let cwd: std::path::PathBuf = cwd.components().collect();
    Ok(ExecutionBinding {
        execution_root: root.display().to_string(),
        cwd: cwd.display().to_string(),
        projection_kind: ProjectionKind::GitWorktreeRoot,
        ..then
    })
}

/// Whether it is certain that there is no agent of the name.
fn is_nobody(error: &ForkError) -> bool {
    match error {
        ForkError::NoAgent(_)
        | ForkError::Child { .. }
        | ForkError::Beyond { .. }
        | ForkError::TooLarge { .. }
        | ForkError::TextsRemoved { .. }
        | ForkError::DiskFull => true,
        ForkError::Refused(reject) => !is_taken(reject),
        ForkError::Exists(_)
        | ForkError::NameTaken { .. }
        | ForkError::Waits
        | ForkError::Ledger(_)
        | ForkError::Restore(_)
        | ForkError::Home(_) => false,
    }
}

fn is_taken(reject: &Reject) -> bool {
    matches!(reject, Reject::AgentExists { .. } | Reject::NameTaken { .. })
}

fn refused(error: ForkError) -> Box<Failure> {
    let text = error.to_string();
    match error {
        ForkError::NoAgent(agent) => Failure::unknown_agent(&agent),
        ForkError::Child { supervisor, .. } => Failure::new(Code::PrivateAgent, text)
            .hint(format!("copy {supervisor} and have it delegate anew, or prompt a new agent")),
        ForkError::Refused(reject) => reject.into(),
        ForkError::Exists(agent) => Reject::AgentExists { agent }.into(),
        ForkError::NameTaken { name, agent } => Reject::NameTaken { name, agent }.into(),
        ForkError::Beyond { agent, at, last } => Failure::unknown_event(&agent, at, last),
        ForkError::TooLarge { records } => Failure::new(Code::TooLarge, text).detail("records", records),
        ForkError::TextsRemoved { .. } => {
            Failure::new(Code::TextsRemoved, text).hint("a later event, of what the agent still holds")
        }
        ForkError::DiskFull => Unavailable::DiskFull.into(),
        ForkError::Waits => Unavailable::NotStoredYet.into(),
        ForkError::Ledger(error) => error.into(),
        ForkError::Restore(_) | ForkError::Home(_) => Failure::internal(text),
    }
}
