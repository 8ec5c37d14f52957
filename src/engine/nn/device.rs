//! Device names to devices.

use std::{collections::BTreeMap, sync::Mutex};

use candle_core::{Device, utils};

use super::kernels::threads::lock;

/// `auto` (the fastest that this build and machine have), `cpu`, `cuda`, `cuda:N`, `metal`, `metal:N`.
/// The error says what is missing and what to do.
pub fn open(name: &str) -> std::result::Result<Device, String> {
    let name = name.trim().to_ascii_lowercase();
    let (kind, number) = name.split_once(':').map_or((name.as_str(), None), |(kind, number)| (kind, Some(number)));
    let index = || match number {
        None => Ok(0),
        Some(n) => {
            n.parse::<usize>().map_err(|_| format!("device `{name}`: `{n}` is not a device number; try `{kind}:0`"))
        }
    };
    match (kind, number) {
        ("auto" | "", None) => Ok(cuda(0).or_else(|_| metal(0)).unwrap_or(Device::Cpu)),
        // there is only one processor; some records call it `cpu:0`
        ("cpu", None | Some("0")) => Ok(Device::Cpu),
        ("auto" | "cpu", Some(_)) => Err(format!("device `{name}`: `{kind}` has no number; choose `{kind}`")),
        ("cuda" | "gpu", _) => cuda(index()?),
        ("metal", _) => metal(index()?),
        _ => Err(format!("there is no device `{name}`; choose auto, cpu, cuda, cuda:N or metal")),
    }
}

/// The name of a device: `cpu`, `cuda:0`, `metal:0`.
pub fn name(device: &Device) -> String {
    match device.location() {
        candle_core::DeviceLocation::Cpu => "cpu".to_owned(),
        candle_core::DeviceLocation::Cuda { gpu_id } => format!("cuda:{gpu_id}"),
        candle_core::DeviceLocation::Metal { gpu_id } => format!("metal:{gpu_id}"),
    }
}

/// The choices of a menu: name, words, and true where this build and machine have it.
pub fn choices() -> Vec<(String, String, bool)> {
    let row = |name: &str, words: &str, here: bool| (name.to_owned(), words.to_owned(), here);
    vec![
        row("auto", "the fastest that is here", true),
        row("cpu", "processor", true),
        row("cuda:0", "NVIDIA GPU; needs a build with `--features cuda`", cuda(0).is_ok()),
        row("metal", "Apple GPU; needs a build with `--features metal`", metal(0).is_ok()),
    ]
}

/// A card is opened once a process, with one stream for all threads: a question is answered on another thread than trains,
/// and what one thread has begun is complete before what another begins later.
fn cuda(index: usize) -> std::result::Result<Device, String> {
    static OPEN_DEVICES: Mutex<BTreeMap<usize, Device>> = Mutex::new(BTreeMap::new());
    if !utils::cuda_is_available() {
        return Err("this build has no CUDA; build it with `--features cuda`, or choose device `cpu`".to_owned());
    }
    let mut open = lock(&OPEN_DEVICES);
    if let Some(device) = open.get(&index) {
        return Ok(device.clone());
    }
    let device = Device::new_cuda_with_stream(index).map_err(|e| {
        format!(
            "CUDA device {index} cannot be opened ({e}); check the driver with `nvidia-smi`, or choose device `cpu`"
        )
    })?;
    #[cfg(feature = "cuda")]
    if let Device::Cuda(card) = &device {
        // SAFETY: nothing else makes a stream of this card, so that the order of its one stream orders every use of memory
        // and its release; events, which would order several streams, are not needed.
        unsafe { card.disable_event_tracking() };
    }
    open.insert(index, device.clone());
    Ok(device)
}

fn metal(index: usize) -> std::result::Result<Device, String> {
    if !utils::metal_is_available() {
        return Err(
            "this build has no Metal; on a Mac build it with `--features metal`, or choose device `cpu`".to_owned()
        );
    }
    Device::new_metal(index)
        .map_err(|e| format!("Metal device {index} cannot be opened ({e}); choose device `cpu` instead"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_exist_open() {
        ["cpu", " CPU ", "auto"].into_iter().for_each(|name| assert!(open(name).is_ok(), "{name}"));
        assert_eq!(super::name(&Device::Cpu), "cpu");
    }

    #[test]
    fn errors_say_what_to_do() {
        let unknown = open("tpu").unwrap_err();
        assert!(unknown.contains("`tpu`") && unknown.contains("cpu"), "{unknown}");
        let number = open("cuda:first").unwrap_err();
        assert!(number.contains("`first`"), "{number}");
        for name in ["cpu:3", "cpu:x", "auto:0"] {
            let numbered = open(name).unwrap_err();
            assert!(numbered.contains(name) && numbered.contains("has no number"), "{numbered}");
            assert!(!numbered.contains("cuda"), "{numbered}");
        }
        if !utils::cuda_is_available() {
            let missing = open("cuda:1").unwrap_err();
            assert!(missing.contains("--features cuda"), "{missing}");
        }
    }
}
