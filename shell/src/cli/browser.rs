//! The browser of whoever sits at this machine.

use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use holon_platform::Environment;

/// What opens an address in the browser that the user has chosen.
const OPENER: &str = "xdg-open";

/// Opens an address where somebody sees that; whether the opener was started. What it and the browser have to say stays out of
/// the terminal, and an interrupt there is not meant for them.
pub(super) fn opens(url: &str, environment: &Environment) -> bool {
    let mut opener = Command::new(OPENER);
    opener.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    io::stdout().is_terminal() && has_display(environment) && opener.spawn().is_ok()
}

fn has_display(environment: &Environment) -> bool {
    let is_set = |name| environment.get(name).is_some_and(|value| !value.is_empty());
    is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
