//! The binary: everything is in the library.

/// That of musl has one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    holon_platform::build::of_commit(holon_commit::commit!());
    holon_supervise::asked(std::env::args_os()).unwrap_or_else(holon_shell::cli::main)
}
