//! Arguments in, exit code out.

use orrery::nn::memory::Counting;

/// Training allocates and frees the same large buffers every step; glibc gives them back to the
/// kernel and pays for the page faults, a pooling allocator does not.
#[global_allocator]
static ALLOCATOR: Counting<mimalloc::MiMalloc> = Counting(mimalloc::MiMalloc);

/// The allocator's number for the milliseconds that it keeps freed pages (mimalloc.h).
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

fn main() -> std::process::ExitCode {
    // SAFETY: sets a number in the allocator's table. A step takes longer than the usual ten milliseconds
    // and asks for the same buffers again; a tenth of its time went into fresh pages.
    unsafe {
        libmimalloc_sys::mi_option_set(PURGE_DELAY, 10_000);
    }
    // SAFETY: no other thread runs yet. candle's own elementwise pool spins; ours does that work.
    unsafe { std::env::set_var("CANDLE_NUM_THREADS", "1") };
    orrery::cli::main()
}
