//! An `ssh` that runs the command here, in a folder whose files say how it behaves.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Makes it in `here` and gives the folder to put first in the path; the other side has Orrery or not. Two programs stand
/// between, as with a real one, so that the command outlives an `ssh` that is killed. It notes each command in `commands` and
/// its own options in `options`, and says that what is in `configured` is configured. While there is a file `down`, no
/// connection is made, and while there is one `hangs`, it notes its number in `hanging` and waits as for a password; where there
/// is one `cut`, it goes, and after four seconds the connection ends as one whose host answers no more.
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
