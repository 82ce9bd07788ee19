//! The binary: everything is in the library.

#[cfg(feature = "crash-points")]
compile_error!("crash points are for the binary `holon-crash` alone: --bin holon-crash");

fn main() -> std::process::ExitCode {
    holon_platform::build::of_commit(holon_commit::commit!());
    holon_supervise::asked(std::env::args_os()).unwrap_or_else(holon_shell::cli::main)
}
