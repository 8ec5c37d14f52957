//! Arguments in, exit code out.

/// Training allocates and frees the same large buffers every step; glibc gives them back to the
/// kernel and pays for the page faults, a pooling allocator does not.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    orrery::cli::main()
}
