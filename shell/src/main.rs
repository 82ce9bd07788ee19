//! The binary: everything is in the library.

fn main() -> std::process::ExitCode {
    holon_shell::cli::main()
}
