//! Arguments in, exit code out.

use orrery::nn::memory::Counting;

/// Training allocates and frees the same large buffers every step; glibc gives them back to the
/// kernel and pays for the page faults, a pooling allocator does not.
#[global_allocator]
static ALLOCATOR: Counting<mimalloc::MiMalloc> = Counting(mimalloc::MiMalloc);

fn main() -> std::process::ExitCode {
    // SAFETY: no other thread runs yet. candle's own elementwise pool spins; ours does that work.
    unsafe { std::env::set_var("CANDLE_NUM_THREADS", "1") };
    orrery::cli::main()
}
