//! Arguments in, exit code out.

use orrery_engine::nn::memory::Counting;

/// Training allocates and frees the same large buffers every step; glibc gives them back to the
/// kernel and pays for the page faults, a pooling allocator does not.
#[global_allocator]
static ALLOCATOR: Counting<mimalloc::MiMalloc> = Counting(mimalloc::MiMalloc);

/// `mi_option_purge_delay` of mimalloc's header, which its crate does not name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

fn main() -> std::process::ExitCode {
    // SAFETY: sets a number, of milliseconds. What a step frees the next one wants again: it goes back to the kernel,
    // which would have to clear it, only every five seconds, not every one.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 5_000) };
    // SAFETY: no other thread runs yet. candle's own elementwise pool spins; ours does that work.
    unsafe { std::env::set_var("CANDLE_NUM_THREADS", "1") };
    orrery::cli::main()
}
