//! The flags of `config providers set`, made from the table of options.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::settings::OPTIONS;

/// Options that were given, with their text.
#[derive(Debug, Clone)]
pub(super) struct OptionFlags(pub(super) Vec<(&'static str, String)>);

impl FromArgMatches for OptionFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name: &'static str| Some((name, matches.get_one::<String>(name)?.clone()));
        Ok(Self(OPTIONS.iter().filter_map(|key| given(key.name)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for OptionFlags {
    fn augment_args(command: Command) -> Command {
        let flags = OPTIONS.iter().map(|key| {
            let flag = Arg::new(key.name).long(key.name.replace('_', "-")).value_name("VALUE").help(key.doc);
            flag.alias(key.name)
        });
        command.args(flags)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
