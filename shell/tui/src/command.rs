//! Slash commands: one table for parsing, completion and help.

use holon_text::nearest::nearest;

use crate::entry::{Entry, Target};

/// What a command does, and how it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// What follows it; an argument in brackets may be left out.
    pub(crate) argument: &'static str,
    pub(crate) about: &'static str,
    pub(crate) action: Action,
}

impl Command {
    pub(crate) fn entry(&self) -> Entry {
        let Self { name, argument, about, .. } = self;
        Entry::of(format!("{:<36} {about}", format!("/{name} {argument}")), Target::Command(name))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Display,
    Agents,
    Agent,
    Inbox,
    Why,
    Tasks,
    Work,
    Children,
    Timers,
    Timer,
    Trigger,
    Run,
    Workspace,
    Transcript,
    Events,
    Prompt,
    Model,
    Start,
    Stop,
    Abort,
    Compact,
    Fork,
    Actions,
    Help,
    Quit,
}

const fn command(name: &'static str, argument: &'static str, about: &'static str, action: Action) -> Command {
    Command { name, argument, about, action }
}

pub(crate) const COMMANDS: [Command; 25] = [
    command("display", "[info|verbose|debug]", "Choose how much the conversation shows", Action::Display),
    command("agents", "", "List agents and switch to one", Action::Agents),
    command("agent", "NAME", "Switch to an agent", Action::Agent),
    command("inbox", "", "List what agents ask of you, and answer", Action::Inbox),
    command("why", "", "Explain why the agent is in its state", Action::Why),
    command("tasks", "", "List background tasks: output, input, stop, kill", Action::Tasks),
    command("work", "", "List work items", Action::Work),
    command("children", "", "Show child agents that are alive, as a tree", Action::Children),
    command("timers", "", "List timers, and cancel them", Action::Timers),
    command("timer", "AFTER [TEXT]", "Wake the agent after a time, for example 10m", Action::Timer),
    command("trigger", "[rotate|revoke]", "Show or change the address that wakes the agent", Action::Trigger),
    command("run", "COMMAND", "Run a command in the background, and follow its output", Action::Run),
    command(
        "workspace",
        "[attach|use PATH, detach ID, exit, prune]",
        "Show or change where the agent works",
        Action::Workspace,
    ),
    command("transcript", "", "Show the transcript with whole texts", Action::Transcript),
    command("events", "", "Show the newest events as they are recorded", Action::Events),
    command("prompt", "[TEXT]", "Preview the next request to the model", Action::Prompt),
    command("model", "[PROVIDER/MODEL, or default]", "Show or set the agent's model", Action::Model),
    command("start", "", "Start the agent", Action::Start),
    command("stop", "", "Stop the agent", Action::Stop),
    command("abort", "", "Abort the run in progress", Action::Abort),
    command("compact", "", "Close the open episode", Action::Compact),
    command("fork", "NAME", "Fork the agent under a new name", Action::Fork),
    command("actions", "", "Choose a command from a list", Action::Actions),
    command("help", "", "Show keys and commands", Action::Help),
    command("quit", "", "Leave; agents go on", Action::Quit),
];

/// A line that begins with a slash: its command and what follows.
///
/// # Errors
/// An unknown command, with the nearest name.
pub(crate) fn parse(line: &str) -> Result<(Action, &str), String> {
    let line = line.trim().trim_start_matches('/');
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let found = COMMANDS.iter().find(|command| command.name == name);
    let Some(found) = found else {
        let near = nearest(name, COMMANDS.iter().map(|command| command.name));
        let near = near.map_or_else(String::new, |near| format!("; did you mean /{near}?"));
        return Err(format!("there is no command /{name}, nothing was sent{near}"));
    };
    let argument = argument.trim();
    if found.argument.is_empty() && !argument.is_empty() {
        return Err(format!("/{name} takes no argument"));
    }
    if argument.is_empty() && !found.argument.is_empty() && !found.argument.starts_with('[') {
        return Err(format!("/{name} needs an argument: /{name} {}", found.argument));
    }
    Ok((found.action, argument))
}

/// Commands that a line may become, while only its name is typed: those that begin like it, or else those that have its
/// characters in this order.
pub(crate) fn completions(line: &str) -> Vec<&'static Command> {
    let name = match line.strip_prefix('/') {
        Some(name) if !name.contains(char::is_whitespace) => name,
        Some(_) | None => return Vec::new(),
    };
    let begin: Vec<_> = COMMANDS.iter().filter(|command| command.name.starts_with(name)).collect();
    if !begin.is_empty() {
        return begin;
    }
    COMMANDS.iter().filter(|command| has_in_order(command.name, name)).collect()
}

/// Commands that fit a few characters: those whose name begins with them, then those that have them in this order, then
/// those whose description has the words.
pub(crate) fn matching(typed: &str) -> Vec<&'static Command> {
    let typed = typed.trim().trim_start_matches('/').to_lowercase();
    let rank = |command: &Command| {
        let about = command.about.to_lowercase();
        if command.name.starts_with(&typed) {
            Some(0)
        } else if has_in_order(command.name, &typed) {
            Some(1)
        } else {
            typed.split_whitespace().all(|word| about.contains(word)).then_some(2)
        }
    };
    let mut found: Vec<_> = COMMANDS.iter().filter_map(|command| Some((rank(command)?, command))).collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, command)| command).collect()
}

fn has_in_order(name: &str, characters: &str) -> bool {
    let mut rest = name.chars();
    characters.chars().all(|wanted| rest.any(|c| c == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_names_the_nearest_one() {
        assert!(parse("/tsaks").unwrap_err().contains("did you mean /tasks?"));
        assert_eq!(parse("/agent  helper ").unwrap(), (Action::Agent, "helper"));
        assert!(parse("/agent").unwrap_err().contains("/agent NAME"));
        assert!(parse("/why not").unwrap_err().contains("no argument"));
    }

    #[test]
    fn a_name_is_completed_until_it_is_whole() {
        let names = |line| completions(line).iter().map(|command| command.name).collect::<Vec<_>>();
        assert_eq!(names("/ag"), ["agents", "agent"]);
        assert_eq!(names("/"), COMMANDS.map(|command| command.name));
        assert_eq!(names("/wsp"), ["workspace"]);
        assert!(names("/agent x").is_empty() && names("a").is_empty());
    }

    #[test]
    fn actions_fit_by_name_then_by_order_then_by_words() {
        let names = |typed| matching(typed).iter().map(|command| command.name).collect::<Vec<_>>();
        assert_eq!(names(""), COMMANDS.map(|command| command.name));
        assert_eq!(names("/tr"), ["trigger", "transcript", "timers", "timer", "start", "children"]);
        assert_eq!(names("wsp"), ["workspace"]);
        assert_eq!(names("CONVERSATION shows"), ["display"]);
        assert!(names("zzz").is_empty());
    }
}
