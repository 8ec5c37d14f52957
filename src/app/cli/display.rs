//! Finds out whether a window can open here: a display to talk to, and the libraries that talking needs.
//!
//! winit panics where one of these libraries is missing, so Orrery looks before it leaps.

/// A library that is loaded at run time, and the Debian package that brings it.
type Library = (&'static str, &'static str);

/// The libraries that winit loads for X11.
const X11: &[Library] = &[
    ("libX11.so.6", "libx11-6"),
    ("libX11-xcb.so.1", "libx11-xcb1"),
    ("libXcursor.so.1", "libxcursor1"),
    ("libXi.so.6", "libxi6"),
    ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
];
const WAYLAND: &[Library] = &[("libwayland-client.so.0", "libwayland-client0"), ("libxkbcommon.so.0", "libxkbcommon0")];
/// The libraries that wgpu draws by: the loader of Vulkan, with a driver that needs no GPU, or that of OpenGL. One is enough.
const GRAPHICS: &[Library] = &[("libvulkan.so.1", "mesa-vulkan-drivers"), ("libEGL.so.1", "libegl1")];

/// `Ok` if a window may be tried; otherwise why not and what to do.
pub fn check() -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let (wayland, x11) = (set("WAYLAND_DISPLAY") || set("WAYLAND_SOCKET"), set("DISPLAY"));
    if !wayland && !x11 {
        return Err("there is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set)".to_owned());
    }
    match missing(wayland, x11, loads).as_slice() {
        [] => Ok(()),
        missing => Err(missing_sentence(missing)),
    }
}

/// The libraries that a window needs besides a display. Wayland comes first, and X11 where that lacks something.
fn missing(wayland: bool, x11: bool, loads: impl Fn(&str) -> bool) -> Vec<Library> {
    let lacking = |of: &[Library]| of.iter().copied().filter(|(file, _)| !loads(file)).collect::<Vec<_>>();
    let mut missing = if wayland { lacking(WAYLAND) } else { lacking(X11) };
    if wayland && x11 && !missing.is_empty() {
        missing = lacking(X11);
    }
    if lacking(GRAPHICS).len() == GRAPHICS.len() {
        missing.extend(GRAPHICS.first());
    }
    missing
}

fn missing_sentence(missing: &[Library]) -> String {
    let (files, packages): (Vec<_>, Vec<_>) = missing.iter().copied().unzip();
    format!(
        "a window needs system libraries that are not here: {}. On Debian or Ubuntu: apt-get install {}",
        files.join(", "),
        packages.join(" ")
    )
}

fn loads(library: &str) -> bool {
    // SAFETY: these are plain system libraries whose initialisers have no requirements of ours.
    unsafe { libloading::Library::new(library) }.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x11_serves_where_wayland_lacks_a_library() {
        let without = |gone: &'static [&'static str]| move |file: &str| !gone.contains(&file);
        assert!(missing(true, true, without(&["libwayland-client.so.0"])).is_empty());
        assert_eq!(missing(true, false, without(&["libxkbcommon.so.0"])), [("libxkbcommon.so.0", "libxkbcommon0")]);
        assert_eq!(missing(false, true, without(&["libXi.so.6"])), [("libXi.so.6", "libxi6")]);
        assert!(missing(true, false, without(&["libXi.so.6"])).is_empty());
    }

    #[test]
    fn vulkan_or_opengl_is_enough_to_draw() {
        assert!(missing(false, true, |file| file != "libvulkan.so.1").is_empty());
        assert!(missing(false, true, |file| file != "libEGL.so.1").is_empty());
        let neither = missing(false, true, |file| file != "libvulkan.so.1" && file != "libEGL.so.1");
        assert_eq!(neither, [("libvulkan.so.1", "mesa-vulkan-drivers")]);
    }

    #[test]
    fn libraries_are_named_with_their_packages() {
        assert_eq!(
            missing_sentence(&[("libXi.so.6", "libxi6"), ("libvulkan.so.1", "mesa-vulkan-drivers")]),
            "a window needs system libraries that are not here: libXi.so.6, libvulkan.so.1. On Debian or Ubuntu: \
             apt-get install libxi6 mesa-vulkan-drivers"
        );
    }
}
