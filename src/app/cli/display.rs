//! Finds out whether a window can open here: a display to talk to, and the libraries that talking needs.
//!
//! winit panics where one of these libraries is missing, so Orrery looks before it leaps.

/// The libraries that winit loads at run time for X11, and the Debian packages that contain them.
#[cfg(target_os = "linux")]
const X11: &[(&str, &str)] = &[
    ("libX11.so.6", "libx11-6"),
    ("libX11-xcb.so.1", "libx11-xcb1"),
    ("libXcursor.so.1", "libxcursor1"),
    ("libXi.so.6", "libxi6"),
    ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
];
#[cfg(target_os = "linux")]
const WAYLAND: &[(&str, &str)] =
    &[("libwayland-client.so.0", "libwayland-client0"), ("libxkbcommon.so.0", "libxkbcommon0")];

/// `Ok` if a window may be tried; otherwise why not and what to do.
#[cfg(target_os = "linux")]
pub fn check() -> Result<(), String> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let (wayland, x11) = (set("WAYLAND_DISPLAY") || set("WAYLAND_SOCKET"), set("DISPLAY"));
    if !wayland && !x11 {
        return Err("there is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set)".to_owned());
    }
    let missing = |of: &[(&str, &'static str)]| -> Vec<&'static str> {
        of.iter().filter(|(lib, _)| !loads(lib)).map(|(_, package)| *package).collect()
    };
    let lacking = match (wayland, x11) {
        (true, _) if missing(WAYLAND).is_empty() => return Ok(()),
        (_, true) => missing(X11),
        _ => missing(WAYLAND),
    };
    if lacking.is_empty() {
        return Ok(());
    }
    Err(format!(
        "a window needs system libraries that are not here. On Debian or Ubuntu: apt-get install {}",
        lacking.join(" ")
    ))
}

#[cfg(target_os = "linux")]
fn loads(library: &str) -> bool {
    // SAFETY: these are plain system libraries whose initialisers have no requirements of ours.
    unsafe { libloading::Library::new(library) }.is_ok()
}

#[cfg(not(target_os = "linux"))]
pub fn check() -> Result<(), String> {
    Ok(())
}
