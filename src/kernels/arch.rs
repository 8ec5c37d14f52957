//! The instruction set that all kernels are compiled for and run with: the best that the processor has, or the one that
//! the variable `ORRERY_SIMD` names (`avx512`, `avx2`, `neon`, `scalar`), so that a machine can give the numbers of
//! another.
//!
//! The variable is read once. It does not reach the crate `gemm`, which multiplies for candle what no fused operation
//! covers and detects the processor by itself.

use std::{ffi::OsStr, sync::OnceLock};

use pulp::Arch;

/// The variable that forces a code path; unset or empty, the processor decides.
pub const VARIABLE: &str = "ORRERY_SIMD";

struct CodePath {
    arch: Arch,
    forced: Option<&'static str>,
}

/// The code path of this process, for [`pulp::WithSimd`].
///
/// # Panics
/// If the variable names no code path of this processor; [`check`] says so beforehand.
#[inline]
pub fn arch() -> Arch {
    match chosen() {
        Ok(chosen) => chosen.arch,
        Err(words) => panic!("{words}"),
    }
}

/// A function of slices, `fn name(simd, argument: type, ..) -> type`, that is compiled for every instruction set and runs with
/// that of [`arch`]. What it borrows is borrowed for `'a`; `fn name<'b>(..)` names a second lifetime.
macro_rules! kernel {
    (@output) => { () };
    (@output $output:ty) => { $output };
    ($(#[$meta:meta])* $vis:vis fn $name:ident $(<$outer:lifetime>)? (
        $simd:pat_param $(, $argument:ident: $ty:ty)+ $(,)?
    ) $(-> $output:ty)? $body:block) => {
        $(#[$meta])*
        #[allow(clippy::needless_lifetimes)]
        $vis fn $name<'a $(, $outer)?>($($argument: $ty),+) $(-> $output)? {
            struct Kernel<'a $(, $outer)?> {
                $($argument: $ty),+
            }

            impl<'a $(, $outer)?> pulp::WithSimd for Kernel<'a $(, $outer)?> {
                type Output = $crate::arch::kernel!(@output $($output)?);

                #[inline(always)]
                fn with_simd<S: pulp::Simd>(self, $simd: S) -> Self::Output {
                    let Self { $($argument),+ } = self;
                    $body
                }
            }

            $crate::arch::arch().dispatch(Kernel { $($argument),+ })
        }
    };
}
pub(crate) use kernel;

/// # Errors
/// The variable names no code path of this processor; the sentence names those that it has.
pub fn check() -> Result<(), String> {
    chosen().as_ref().map(|_| ()).map_err(Clone::clone)
}

/// Name of the code path that the variable forces.
pub fn forced() -> Option<&'static str> {
    chosen().as_ref().ok().and_then(|chosen| chosen.forced)
}

/// The code paths of this processor by name, the best first.
pub fn available() -> Vec<(&'static str, Arch)> {
    let mut all = vec![];
    #[cfg(target_arch = "x86_64")]
    {
        all.extend(pulp::x86::V4::try_new().map(|simd| ("avx512", Arch::V4(simd))));
        all.extend(pulp::x86::V3::try_new().map(|simd| ("avx2", Arch::V3(simd))));
    }
    #[cfg(target_arch = "aarch64")]
    all.extend(pulp::aarch64::Neon::try_new().map(|simd| ("neon", Arch::Neon(simd))));
    all.push(("scalar", Arch::Scalar));
    all
}

#[inline]
fn chosen() -> &'static Result<CodePath, String> {
    static CODE_PATH: OnceLock<Result<CodePath, String>> = OnceLock::new();
    CODE_PATH.get_or_init(|| choose(std::env::var_os(VARIABLE).as_deref()))
}

fn choose(wanted: Option<&OsStr>) -> Result<CodePath, String> {
    let Some(wanted) = wanted.filter(|w| !w.is_empty()) else {
        return Ok(CodePath { arch: Arch::new(), forced: None });
    };
    let all = available();
    if let Some((name, arch)) = all.iter().find(|(name, _)| wanted == *name) {
        return Ok(CodePath { arch: *arch, forced: Some(name) });
    }
    let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
    Err(format!("{VARIABLE} is `{}`, but the code paths of this processor are: {}", wanted.display(), names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_path_is_the_default_and_each_can_be_forced() {
        let all = available();
        let names = |arch: Arch| format!("{arch:?}");
        assert_eq!(names(all[0].1), names(Arch::new()));
        for unset in [None, Some(OsStr::new(""))] {
            let chosen = choose(unset).unwrap();
            assert!(chosen.forced.is_none() && names(chosen.arch) == names(Arch::new()));
        }
        for (name, arch) in all {
            let chosen = choose(Some(OsStr::new(name))).unwrap();
            assert_eq!((chosen.forced, names(chosen.arch)), (Some(name), names(arch)));
        }
    }

    #[test]
    fn an_unknown_path_is_refused_with_those_there_are() {
        let words = choose(Some(OsStr::new("mmx"))).err().unwrap();
        assert!(words.contains("`mmx`") && words.ends_with("scalar"), "{words}");
    }
}
