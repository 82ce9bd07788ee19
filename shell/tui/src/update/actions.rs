//! What Enter does: it sends, chooses, or runs a command.

use holon_facts::AgentId;
use holon_facts::Millis;
use holon_facts::model_ref::ModelRef;
use holon_facts::workspace::WorkspaceId;
use holon_present::Level;
use jiff::SignedDuration;

use super::{leave, newest, next_prompt, open, switch};
use crate::command::{self, Action};
use crate::entry::Target;
use crate::message::{Control, Prompt, Request};
use crate::model::{Model, Recipient};
use crate::overlay::Kind;
use crate::text::clean;

/// Prompts that may wait for the runtime at once: to one agent, and to all of them together.
const SENDING: usize = 64;
const SENDING_TO_ALL: usize = 1_024;

pub(super) fn enter(model: &mut Model) -> Vec<Request> {
    let actions = model.overlays.last().is_some_and(|top| top.kind == Kind::Actions);
    if actions || (model.composer.is_blank() && !matches!(model.recipient, Recipient::Task(_))) {
        return match model.overlays.last().and_then(|overlay| overlay.target()).cloned() {
            Some(target) => choose(model, target),
            None => Vec::new(),
        };
    }
    if model.composer.text().starts_with('/') && !model.composer.text().contains('\n') {
        let line = model.composer.text().to_owned();
        return match command::parse(&line) {
            Ok((action, argument)) => {
                model.composer.take();
                run(model, action, argument)
            }
            Err(problem) => {
                model.notice = Some(clean(&problem));
                Vec::new()
            }
        };
    }
    send(model)
}

fn send(model: &mut Model) -> Vec<Request> {
    let (agent, answers) = match &model.recipient {
        Recipient::Agent => (model.agent.clone(), None),
        Recipient::Ask(agent, brief) => (agent.clone(), Some(*brief)),
        Recipient::Task(task) => {
            // A command that was answered may ask for more.
            let input = Control::WriteTask(*task, format!("{}\n", model.composer.take()));
            model.session.draft.clear();
            return vec![Request::Control(model.agent.clone(), input)];
        }
    };
    let waiting = model.sending.iter().filter(|prompt| prompt.agent == agent).count();
    if waiting >= SENDING || model.sending.len() >= SENDING_TO_ALL {
        model.notice = Some(format!("{waiting} prompts to {agent} wait for the runtime already"));
        return Vec::new();
    }
    let text = model.composer.take();
    model.recipient = Recipient::Agent;
    model.session.leaves_when_sent = false;
    model.session.sent += 1;
    let key = format!("{}-{}", model.session.name, model.session.sent);
    let (on_its_way, deferred, problem) = (false, 0, None);
    let prompt = Prompt { key, agent: agent.clone(), text, answers, on_its_way, deferred, problem };
    model.sending.push(prompt);
    let mut requests = newest(model);
    requests.extend(next_prompt(model, &agent));
    requests
}

/// Up in an empty composer takes back the newest prompt of those that can't be sent; None where there is none.
pub(super) fn take_back(model: &mut Model) -> Option<Vec<Request>> {
    if !model.composer.is_blank() || model.recipient != Recipient::Agent {
        return None;
    }
    let (at, recipient) = model.taken_back()?;
    let Prompt { key, agent, text, on_its_way, .. } = model.sending.remove(at);
    model.composer.take_back(&text);
    model.recipient = recipient;
    model.session.leaves_when_sent = false;
    let mut requests = Vec::new();
    if on_its_way {
        // The last attempt may have reached the runtime.
        model.notice = Some("taken back; if it had arrived already, its message appears here".to_owned());
        requests.push(Request::Withdraw(key));
        requests.extend(next_prompt(model, &agent));
    }
    Some(requests)
}

fn choose(model: &mut Model, target: Target) -> Vec<Request> {
    match target {
        Target::Agent(agent) => switch(model, agent),
        Target::Ask(agent, brief) => {
            model.recipient = Recipient::Ask(agent, brief);
            model.overlays.clear();
            Vec::new()
        }
        Target::Task { task, .. } => open(model, Kind::Output(task)),
        // They have keys of their own; nothing is chosen.
        Target::Timer(_) | Target::Trigger => Vec::new(),
        Target::Workspace(workspace) => {
            vec![Request::Control(model.agent.clone(), Control::UseKnown(workspace))]
        }
        Target::Model(name) => {
            model.overlays.pop();
            run(model, Action::Model, &name)
        }
        Target::Command(name) => {
            model.overlays.pop();
            // A prompt that was begun is called back with Up.
            if !model.composer.is_blank() {
                model.composer.take();
            }
            model.recipient = Recipient::Agent;
            model.composer.replace(&format!("/{name} "));
            Vec::new()
        }
    }
}

fn run(model: &mut Model, action: Action, argument: &str) -> Vec<Request> {
    let kind = match action {
        Action::Agents => Kind::Agents,
        Action::Inbox => Kind::Inbox,
        Action::Why => Kind::Why,
        Action::Tasks => Kind::Tasks,
        Action::Work => Kind::Work,
        Action::Children => Kind::Children,
        Action::Timers => Kind::Timers,
        Action::Trigger if argument.is_empty() => Kind::Triggers,
        Action::Transcript => Kind::Transcript,
        Action::Events => Kind::Events,
        Action::Actions => Kind::Actions,
        Action::Help => Kind::Help,
        Action::Prompt => Kind::Prompt(Some(argument.to_owned()).filter(|text| !text.is_empty())),
        Action::Model if argument.is_empty() => Kind::Models,
        Action::Workspace if argument.is_empty() => Kind::Workspaces,
        Action::Display => return display(model, argument),
        Action::Agent => return named(model, argument),
        Action::Quit => return leave(model),
        Action::Model
        | Action::Workspace
        | Action::Run
        | Action::Timer
        | Action::Trigger
        | Action::Start
        | Action::Stop
        | Action::Abort
        | Action::Compact
        | Action::Fork => return control(model, action, argument),
    };
    open(model, kind)
}

fn display(model: &mut Model, level: &str) -> Vec<Request> {
    model.level = match level {
        "info" | "3" => Level::Info,
        "verbose" | "4" => Level::Verbose,
        "debug" | "5" => Level::Debug,
        "" => match model.level {
            Level::Info => Level::Verbose,
            Level::Verbose => Level::Debug,
            Level::Debug => Level::Info,
        },
        other => {
            model.notice = Some(clean(&format!("{other} is no level: info (3), verbose (4) or debug (5)")));
            return Vec::new();
        }
    };
    model.notice = Some(format!("the conversation shows {}", crate::view::level_name(model.level)));
    newest(model)
}

fn named(model: &mut Model, name: &str) -> Vec<Request> {
    match AgentId::new(name) {
        Ok(agent) => switch(model, agent),
        Err(problem) => {
            model.notice = Some(clean(&problem.to_string()));
            Vec::new()
        }
    }
}

fn control(model: &mut Model, action: Action, argument: &str) -> Vec<Request> {
    match asked(action, argument) {
        Ok(control) => vec![Request::Control(model.agent.clone(), control)],
        Err(problem) => {
            model.notice = Some(clean(&problem));
            Vec::new()
        }
    }
}

fn asked(action: Action, argument: &str) -> Result<Control, String> {
    let workspace = || match argument.split_once(' ') {
        Some(("attach", path)) => Ok(Control::Attach(path.trim().to_owned())),
        Some(("use", path)) => Ok(Control::Use(path.trim().to_owned())),
        Some(("detach", id)) => Ok(Control::Detach(WorkspaceId::named(id.trim()))),
        None if argument == "exit" => Ok(Control::Exit),
        None if argument == "prune" => Ok(Control::Prune),
        Some(_) | None => Err("write /workspace attach PATH, use PATH, detach ID, exit or prune".to_owned()),
    };
    match action {
        Action::Start => Ok(Control::Start),
        Action::Stop => Ok(Control::Stop),
        Action::Abort => Ok(Control::Abort),
        Action::Compact => Ok(Control::Compact),
        Action::Model if argument == "default" => Ok(Control::Model(None)),
        Action::Model => match argument.parse::<ModelRef>() {
            Ok(_) => Ok(Control::Model(Some(argument.to_owned()))),
            Err(problem) => Err(problem.to_string()),
        },
        Action::Fork => AgentId::new(argument).map(Control::Fork).map_err(|problem| problem.to_string()),
        Action::Workspace => workspace(),
        Action::Run => Ok(Control::RunTask(argument.to_owned())),
        Action::Timer => timer(argument),
        Action::Trigger if argument == "rotate" => Ok(Control::RotateTrigger),
        Action::Trigger if argument == "revoke" => Ok(Control::RevokeTrigger),
        Action::Trigger => Err("write /trigger rotate or /trigger revoke".to_owned()),
        Action::Display
        | Action::Agents
        | Action::Agent
        | Action::Inbox
        | Action::Why
        | Action::Tasks
        | Action::Work
        | Action::Children
        | Action::Timers
        | Action::Transcript
        | Action::Events
        | Action::Prompt
        | Action::Actions
        | Action::Help
        | Action::Quit => Err("this is no request".to_owned()),
    }
}

/// A time with its unit, and what the agent is to be reminded of.
fn timer(argument: &str) -> Result<Control, String> {
    let (after, text) = argument.split_once(' ').unwrap_or((argument, ""));
    let read: Option<SignedDuration> = after.parse().ok();
    let after = read.and_then(|after| u64::try_from(after.as_millis()).ok());
    let after =
        after.ok_or("write /timer 10m TEXT: a time with its unit (90s, 10m, 1h30m), and what it is about")?;
    Ok(Control::AddTimer(Millis(after), text.trim().to_owned()))
}
