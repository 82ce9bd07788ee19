//! The binary: everything is in the library.

fn main() -> std::process::ExitCode {
    holon_shell::supervise::asked(std::env::args_os()).unwrap_or_else(holon_shell::cli::main)
}
