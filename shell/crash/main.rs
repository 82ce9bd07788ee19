//! The binary with crash points. `holon-crash points` names them, a line each; everything else is as always.

use std::process::ExitCode;

use holon_platform::crash_point::Point;
use holon_shell::cli;

fn main() -> ExitCode {
    holon_platform::build::of_commit(holon_commit::commit!());
    if std::env::args_os().nth(1).is_some_and(|word| word == "points") {
        let names: String = Point::ALL.iter().map(|point| format!("{}\n", point.name())).collect();
        return match std::io::Write::write_all(&mut std::io::stdout(), names.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    holon_supervise::asked(std::env::args_os()).unwrap_or_else(cli::main)
}
