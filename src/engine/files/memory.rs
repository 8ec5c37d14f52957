//! The memory that this process may still take, as the system reports it, and the share of it that reading one
//! file may use.

use std::{fs, path::Path};

/// Reading a file takes at most the available memory divided by this.
const BUDGET_DIVISOR: u64 = 2;
/// The memory that is assumed to be available if the system does not report it.
const ASSUMED_MEMORY: u64 = 4 << 30;

/// Bytes that this process can still take without being refused or ended: the least of what the kernel counts
/// as available, what the control groups of the process leave (a container's limit), and what its limit of
/// address space leaves (`ulimit -v`). `None` where the system does not tell, which is everywhere but on Linux.
pub fn available_memory() -> Option<u64> {
    let machine = meminfo(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let mut least = machine;
    for group in fs::read_to_string("/proc/self/cgroup").unwrap_or_default().lines() {
        least = least.min(group_left(group).unwrap_or(u64::MAX));
    }
    Some(least.min(address_space_left().unwrap_or(u64::MAX)))
}

/// An error: reading a file would take more memory than one file may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it needs about {} of memory, and reading one file may take {} here, half of what is free: close other programs or use a computer with more memory",
    size(*.needed), size(*.allowed)
)]
pub struct TooMuchMemory {
    /// Bytes that reading the file would take.
    pub needed: u64,
    /// The number of bytes that reading one file may take; see [`reading_budget`].
    pub allowed: u64,
}

/// Bytes of memory that reading one file may take now.
pub fn reading_budget() -> u64 {
    available_memory().unwrap_or(ASSUMED_MEMORY) / BUDGET_DIVISOR
}

/// Checks that `needed` bytes may be taken to read a file.
///
/// # Errors
/// If that is more than [`reading_budget`].
pub fn check_memory(needed: u64) -> Result<(), TooMuchMemory> {
    let allowed = reading_budget();
    if needed > allowed { Err(TooMuchMemory { needed, allowed }) } else { Ok(()) }
}

/// Formats a number of bytes with decimal units (1 kB = 1000 bytes).
pub fn size(bytes: u64) -> String {
    let b = bytes as f64;
    match bytes {
        1_000_000_000.. => format!("{:.1} GB", b / 1e9),
        1_000_000.. => format!("{:.1} MB", b / 1e6),
        1_000.. => format!("{:.0} kB", b / 1e3),
        _ => format!("{bytes} bytes"),
    }
}

fn meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|k| k.saturating_mul(1024))
}

/// The memory that the group of a line of `/proc/self/cgroup` and its parents leave; `None` if none has a limit.
fn group_left(line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let (root, limit, used) = match controllers {
        "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
        c if c.split(',').any(|c| c == "memory") => {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
        }
        _ => return None,
    };
    let left = |group: &Path| {
        let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        // Cached files of a control group count as used, but are released when memory is needed.
        Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(file_pages(group))))
    };
    let group = Path::new(root).join(path.trim_start_matches('/'));
    group.ancestors().take_while(|g| g.starts_with(root)).filter_map(left).min()
}

/// Bytes of a group's memory that are copies of files not lately used.
fn file_pages(group: &Path) -> u64 {
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let of = |name: &str| stat.lines().find_map(|l| l.strip_prefix(name)?.trim().parse::<u64>().ok());
    of("total_inactive_file ").or_else(|| of("inactive_file ")).unwrap_or(0)
}

fn address_space_left() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|l| l.strip_prefix("Max address space"))?;
    let limit = line.split_whitespace().next()?.parse::<u64>().ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let used = status.lines().find_map(|l| l.strip_prefix("VmSize:"))?;
    let used = used.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.saturating_mul(1024);
    Some(limit.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_is_read() {
        assert_eq!(meminfo("MemTotal:  100 kB\nMemAvailable:    12345 kB\n"), Some(12_345 << 10));
        assert_eq!(meminfo("MemTotal: 1 kB"), None);
        assert_eq!(group_left("3:cpuset:/"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn available_memory_is_at_most_the_total() {
        let text = fs::read_to_string("/proc/meminfo").unwrap();
        let total = text.lines().find_map(|l| l.strip_prefix("MemTotal:")).unwrap();
        let total: u64 = total.trim().trim_end_matches("kB").trim().parse().unwrap();
        let available = available_memory().unwrap();
        assert!(available > 0 && available <= total << 10, "{available} of {total} KiB");
    }

    #[test]
    fn a_refusal_says_both_numbers() {
        let error = check_memory(u64::MAX).unwrap_err().to_string();
        assert!(error.contains("18446744073.7 GB") && error.contains(&size(reading_budget())[..1]), "{error}");
        assert_eq!(check_memory(1), Ok(()));
        assert_eq!([size(999), size(2_500), size(3_200_000), size(4 << 30)], ["999 bytes", "2 kB", "3.2 MB", "4.3 GB"]);
    }
}
