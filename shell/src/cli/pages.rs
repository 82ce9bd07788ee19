//! `holon completions` and `holon man`: what shells and readers of manuals want, from the command line itself.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_complete::env::Shells;
use holon_text::nearest::did_you_mean;
use serde_json::json;

use super::Cli;
use super::exit::Exit;
use super::output::{self, Failure};

/// Where a shell says that it asks for completions.
pub(super) const COMPLETE: &str = "HOLON_COMPLETE";

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// Print the completions of this shell
    #[arg(value_enum)]
    shell: Shell,
    /// Print one JSON document: the shell and its completions as text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// Print the page of this command, for example `daemon start` [default: holon itself]
    #[arg(value_name = "COMMAND")]
    path: Vec<String>,
    /// Write the pages of all commands into this folder instead, one file each
    #[arg(long, value_name = "FOLDER", conflicts_with = "path")]
    into: Option<PathBuf>,
    /// Print one JSON document: the command, and its page as text; of --into the folder
    #[arg(long)]
    json: bool,
}

/// Prints the completions of a shell.
pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let shell = args.shell.to_string();
    let shells = Shells::builtins();
    let completer = shells.completer(&shell).ok_or_else(|| anyhow!("{shell} gets no completions"))?;
    completer.write_registration(COMPLETE, "holon", "holon", "holon", &mut script)?;
    if args.json {
        let script = String::from_utf8(script).context("completions")?;
        output::document(&json!({ "shell": args.shell.to_string(), "completions": script }))?;
        return Ok(Exit::Completed);
    }
    print(&script)
}

/// Prints the manual page of one command, which names those below it; or writes all pages down.
pub(super) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let root = documented();
    if let Some(folder) = &args.into {
        fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(root, folder))
            .with_context(|| format!("{} can't be written", folder.display()))?;
        if args.json {
            output::document(&json!({ "folder": std::path::absolute(folder)? }))?;
        } else {
            output::line(&format!("the pages are in {}", folder.display()))?;
        }
        return Ok(Exit::Completed);
    }
    let mut page = Vec::new();
    let command = named(&root, &args.path)?;
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    if args.json {
        let page = String::from_utf8(page).context("the page")?;
        let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
        output::document(&json!({ "command": name, "page": page }))?;
        return Ok(Exit::Completed);
    }
    print(&page)
}

/// All commands but `help`, which would be a page below each group.
fn documented() -> clap::Command {
    fn without_help(command: clap::Command) -> clap::Command {
        command.disable_help_subcommand(true).mut_subcommands(without_help)
    }
    let mut root = without_help(Cli::command());
    root.build();
    root
}

/// The command that these words name.
fn named<'a>(root: &'a clap::Command, path: &[String]) -> Result<&'a clap::Command, Failure> {
    let mut command = root;
    for word in path {
        command = command.find_subcommand(word).ok_or_else(|| {
            let names = command.get_subcommands().map(clap::Command::get_name);
            let above = command.get_bin_name().unwrap_or_else(|| command.get_name());
            Failure::usage(anyhow!("{above} has no command {word}{}", did_you_mean(word, names)))
        })?;
    }
    Ok(command)
}

fn print(bytes: &[u8]) -> Result<Exit, Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()?;
    Ok(Exit::Completed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands with a page of their own, each with all words of its name.
    fn all(command: &clap::Command, above: &[String], found: &mut Vec<Vec<String>>) {
        found.push(above.to_vec());
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            all(below, &[above, &[below.get_name().to_owned()]].concat(), found);
        }
    }

    #[test]
    fn each_command_at_each_level_has_a_page_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let args = ManArgs { path: Vec::new(), into: Some(folder.path().join("man1")), json: false };
        assert_eq!(man(&args).unwrap(), Exit::Completed);
        let root = documented();
        let mut paths = Vec::new();
        all(&root, &[], &mut paths);
        assert!(paths.contains(&vec!["daemon".to_owned(), "start".to_owned()]), "{paths:?}");
        assert!(paths.iter().any(|path| path.len() == 3), "{paths:?}");
        for path in &paths {
            let name = [&["holon".to_owned()], path.as_slice()].concat().join("-");
            let page = fs::read_to_string(folder.path().join(format!("man1/{name}.1"))).unwrap();
            assert!(page.contains(&format!(".TH {name} 1")), "{page}");
            let command = named(&root, path).unwrap();
            for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
                let title = format!("{name}-{}(1)", below.get_name()).replace('-', "\\-");
                assert!(page.contains(&title), "{name} does not name {title}: {page}");
            }
        }
        assert_eq!(fs::read_dir(folder.path().join("man1")).unwrap().count(), paths.len());
    }

    #[test]
    fn a_command_that_is_not_there_is_named() {
        let failure = named(&documented(), &["daemon".to_owned(), "stat".to_owned()]).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(failure.error.to_string().contains("holon daemon has no command stat"), "{failure:?}");
    }
}
