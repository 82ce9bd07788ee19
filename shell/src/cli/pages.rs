//! `holon completions` and `holon man`: what shells and readers of manuals want, from the command line itself.

use std::io::{self, Write};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use super::exit::Exit;
use super::output::Failure;

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the completions of a shell.
pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "holon", &mut script);
    print(&script)
}

/// Prints the manual page: the command, then each of its subcommands.
pub(super) fn man() -> Result<Exit, Failure> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        let subcommand = subcommand.clone();
        let man = clap_mangen::Man::new(subcommand.clone());
        writeln!(page, ".SH \"holon {}\"", subcommand.get_name())?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    print(&page)
}

fn print(bytes: &[u8]) -> Result<Exit, Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()?;
    Ok(Exit::Completed)
}
