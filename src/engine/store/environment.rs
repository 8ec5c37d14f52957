//! On what machine and with which build a run was made. No names of people, machines or networks.

use super::prelude::*;
use crate::nn::kernels::arch;

/// The size limit of a file in which the system describes itself, bytes.
const MAX_SYSTEM_FILE: u64 = 4 << 20;

/// The machine on which the numbers were measured, for later readers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Version of Orrery.
    pub orrery: String,
    /// "Debian GNU/Linux 12 (bookworm), x86_64".
    pub os: String,
    /// The processor's model name, as the system reports it.
    pub cpu: String,
    /// Instruction sets that change results or speed: "avx2", "avx512f".
    pub cpu_features: Vec<String>,
    /// The code path of the kernels, where the variable `ORRERY_SIMD` forces one: "avx2".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forced_simd: Option<String>,
    /// Hardware threads.
    pub cores: usize,
    /// Cargo features of this build.
    pub build_features: Vec<String>,
    /// "release" or "dev".
    pub profile: String,
}

impl Environment {
    /// The program and its machine, as far as they are recorded: "orrery-log 0.1.0, Linux 6.18, x86_64". Empty if
    /// nothing is recorded.
    pub fn label(&self) -> String {
        let is_version = self.orrery.starts_with(|c: char| c.is_ascii_digit());
        let program = format!("{}{}", if is_version { "Orrery " } else { "" }, self.orrery);
        let parts = [program.as_str(), self.os.as_str(), self.cpu.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// The environment of this process.
    pub fn current() -> Self {
        let features =
            [("cuda", cfg!(feature = "cuda")), ("cudnn", cfg!(feature = "cudnn")), ("metal", cfg!(feature = "metal"))];
        Self {
            orrery: env!("CARGO_PKG_VERSION").to_owned(),
            os: format!("{}, {}", system(), std::env::consts::ARCH),
            cpu: field_of("/proc/cpuinfo", "model name", ':').unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cpu_features: cpu_features(),
            forced_simd: arch::forced().map(str::to_owned),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            build_features: features.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned()).collect(),
            profile: if cfg!(debug_assertions) { "dev" } else { "release" }.to_owned(),
        }
    }
}

fn system() -> String {
    field_of("/etc/os-release", "PRETTY_NAME", '=').unwrap_or_else(|| std::env::consts::OS.to_owned())
}

/// The value of the first `name<separator>value` line of a small system file.
fn field_of(file: &str, name: &str, separator: char) -> Option<String> {
    let text = files::read_text(Path::new(file), MAX_SYSTEM_FILE).ok()?;
    text.lines()
        .filter_map(|line| line.split_once(separator))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().trim_matches('"').to_owned())
}

#[cfg(target_arch = "x86_64")]
fn cpu_features() -> Vec<String> {
    let present = [
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
    ];
    present.iter().filter(|(_, here)| *here).map(|(name, _)| (*name).to_owned()).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn cpu_features() -> Vec<String> {
    vec![]
}
