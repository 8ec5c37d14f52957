//! A stand-in for `ssh` that runs the command on this machine. Files in its folder control its behaviour.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Writes the stand-in into `here` and returns the folder that must come first in PATH. `has_orrery` decides whether
/// the other side has Orrery. As with a real `ssh`, two processes stand between, so that the command outlives an `ssh`
/// that is killed.
///
/// The stand-in appends each command to `commands` and its options to `options`, and prints the file `configured` as
/// its configuration. While a file `down` exists, no connection is made. While a file `hangs` exists, it writes its
/// process id into `hanging` and waits, as for a password. If a file `cut` exists, it is removed, and after four
/// seconds the connection ends as if the host no longer answered.
pub fn stand_in_ssh(here: &Path, has_orrery: bool) -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_orrery")).parent().unwrap().display().to_string();
    let path = if has_orrery { format!("{program}:/usr/bin:/bin") } else { "/usr/bin:/bin".to_owned() };
    let script = format!(
        r#"#!/bin/sh
options=
while [ "$1" != -- ]; do
  if [ "$1" = -G ]; then cat '{here}/configured'; exit; fi
  options="$options $1"
  shift
done
shift 2
echo "$options" >>'{here}/options'
if [ -e '{here}/down' ]; then exit 255; fi
if [ -e '{here}/hangs' ]; then
  echo $$ >'{here}/hanging'
  exec sleep 100
fi
echo "$*" >>'{here}/commands'
limit=
if [ -e '{here}/cut' ]; then
  rm '{here}/cut'
  limit='timeout 4'
fi
PATH='{path}'
{{
  $limit sh -c "$*"
  echo $? >'{here}/code.'$$
}} | cat
code=$(cat '{here}/code.'$$)
if [ -n "$limit" ] && [ "$code" -eq 124 ]; then
  echo 'Timeout, server far not responding.' >&2
  code=255
fi
exit "$code"
"#,
        here = here.display(),
    );
    let bin = here.join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("ssh"), script).unwrap();
    fs::set_permissions(bin.join("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(here.join("configured"), "controlmaster false\n").unwrap();
    bin
}
