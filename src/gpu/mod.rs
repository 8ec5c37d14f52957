//! wgpu pipelines, one a file, and the off-screen renderer. Knows no lab.
