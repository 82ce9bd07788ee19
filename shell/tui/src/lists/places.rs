//! Timers, the trigger and the workspaces of an agent.

use holon_api::{ClientError, Control as Runtime, TimerSnapshot, TimersQuery, TriggerSnapshot};
use holon_facts::AgentId;
use holon_facts::workspace::{WorkspaceId, Worktree};
use holon_text::{moment, time};

use crate::entry::{Entry, Target};

pub(super) async fn timers(client: &impl Runtime, agent: &AgentId) -> Result<Vec<Entry>, ClientError> {
    let timers = client.timers(agent, TimersQuery::default()).await?.into_reply().timers;
    let entry = |timer: &TimerSnapshot| {
        let due = timer.next_fire_at.map_or_else(String::new, |at| format!(" at {}", moment::exact(at)));
        let every =
            timer.interval_ms.map_or_else(String::new, |every| format!(", every {}", time::exactly(every)));
        let what = timer.summary.as_deref().unwrap_or("without a summary");
        Entry::of(
            format!("{} {}{due}{every} · {what}", timer.timer_id, timer.status),
            Target::Timer(timer.timer_id),
        )
    };
    let mut entries: Vec<Entry> = timers.iter().map(entry).collect();
    entries.push(Entry::line("/timer 10m TEXT adds one"));
    Ok(entries)
}

pub(super) async fn triggers(client: &impl Runtime, agent: &AgentId) -> Result<Vec<Entry>, ClientError> {
    let triggers = client.triggers(agent).await?.into_reply().triggers;
    if triggers.is_empty() {
        return Ok(vec![Entry::line(format!("{agent} has no trigger yet: /trigger rotate makes one"))]);
    }
    Ok(triggers.iter().map(trigger).collect())
}

fn trigger(shown: &TriggerSnapshot) -> Entry {
    let trigger = &shown.trigger;
    let (word, since) = match trigger.revoked_at {
        None => ("active", trigger.created_at),
        Some(revoked) => ("revoked", revoked),
    };
    let last = trigger.last_delivered_at.map(|last| format!(", the last {}", moment::relative(last)));
    let mut text = format!(
        "{} {word} since {}, generation {}\n  deliveries: {}{}",
        trigger.external_trigger_id,
        moment::near(since),
        trigger.generation,
        trigger.delivery_count,
        last.unwrap_or_default()
    );
    if let Some(url) = &shown.trigger_url {
        text.push_str(&format!("\n  {url}"));
    }
    Entry::of(text, Target::Trigger)
}

pub(super) async fn workspaces(client: &impl Runtime, agent: &AgentId) -> Result<Vec<Entry>, ClientError> {
    let shown = client.workspaces(agent).await?.into_reply();
    let state = &shown.state;
    let entry = |id: &WorkspaceId, folder: &str| {
        let mark = if *id == state.active_workspace_id { "* " } else { "  " };
        Entry::of(format!("{mark}{id} · {folder}"), Target::Workspace(id.clone()))
    };
    let home = WorkspaceId::agent_home();
    let mut entries = vec![entry(&home, &shown.agent_home)];
    entries
        .extend(state.attached_workspaces.iter().map(|one| entry(&one.workspace_id, &one.workspace_anchor)));
    entries.extend(state.worktrees.iter().map(worktree));
    entries
        .push(Entry::line(format!("commands run in {}: {}", state.execution.cwd, shown.boundaries.profile)));
    entries.push(Entry::line("/workspace attach PATH, use PATH, detach ID, exit, prune"));
    Ok(entries)
}

fn worktree(one: &Worktree) -> Entry {
    let reason = one.retained.as_ref().map(|retained| format!(": {}", retained.reason)).unwrap_or_default();
    let plan = &one.plan;
    Entry::line(format!("  {} {}{reason} · {} · {}", plan.worktree_id, one.state, plan.branch, plan.path))
}
