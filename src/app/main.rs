//! The program: passes its arguments to the library and returns the exit code.

use orrery::cli;
use orrery_engine::nn::memory::Counting;

/// Training allocates and frees the same large buffers every step; glibc gives them back to the
/// kernel and pays for the page faults, a pooling allocator does not.
#[global_allocator]
static ALLOCATOR: Counting<mimalloc::MiMalloc> = Counting(mimalloc::MiMalloc);

fn main() -> std::process::ExitCode {
    cli::prepare_process();
    cli::main()
}
