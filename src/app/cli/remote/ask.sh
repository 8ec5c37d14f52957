# Puts a question to the program that writes a run folder, and writes its answer to standard output:
#     sh -s -- FOLDER ID < this script, then `ask <<'ID'`, the question, and ID
# The question is taken away when it is answered or nobody reads the output any more. No link inside the folder is followed
# and nothing of it is executed. It needs sh, wc, cat, head, mv, rm and sleep.
CDPATH='' cd -- "$1" >/dev/null || exit 66
id=$2
most=67108864
root=$(pwd -P)
root=${root%/}

# Goes into a folder of this one, and nowhere else if that is a link.
inside() {
  CDPATH='' cd -- "$root/$1" >/dev/null 2>&1 && [ "$(pwd -P)" = "$root/$1" ]
}

withdraw() {
  if inside ask; then rm -f -- "$id.json" ".$id.json"; fi
}

# Something of this name that is not a file.
is_no_file() {
  [ -L "$1" ] || { [ -e "$1" ] && [ ! -f "$1" ]; }
}

send() { # ENDING: sends a file of the answer, if it is there
  if is_no_file "$id.$1"; then
    printf '{"no_file":{"name":"answer/%s.%s"}}\n' "$id" "$1"
    exit
  fi
  if [ ! -f "$id.$1" ]; then return; fi
  length=$(($(wc -c <"$id.$1")))
  if [ "$length" -gt "$most" ]; then
    printf '{"too_long":{"name":"answer/%s.%s","bytes":%d}}\n' "$id" "$1" "$length"
    exit
  fi
  printf '{"answer":{"ending":"%s","bytes":%d}}\n' "$1" "$length"
  # as many bytes as were said, whatever happens to the file meanwhile
  { cat "$id.$1"; head -c "$length" /dev/zero; } 2>/dev/null | head -c "$length"
}

ask() { # with the question as standard input
  if [ -L "$root/ask" ]; then
    printf '{"no_file":{"name":"ask"}}\n'
    exit
  fi
  if ! inside ask; then
    printf '"nobody"\n'
    exit
  fi
  # what a cut has left behind, once it is answered
  for left in *.json; do
    if [ ! -L "$root/answer" ] && [ -f "$root/answer/$left" ]; then rm -f -- "$left"; fi
  done
  # a reader that leaves is noticed by what cannot be written
  trap '' PIPE
  trap withdraw EXIT
  trap exit HUP INT TERM
  if ! (set -C && cat >".$id.json") 2>/dev/null || ! mv -- ".$id.json" "$id.json" 2>/dev/null; then
    printf '"unwritable"\n'
    exit
  fi
  while :; do
    if [ -L "$root/answer" ]; then
      printf '{"no_file":{"name":"answer"}}\n'
      exit
    fi
    if inside answer && { [ -e "$id.json" ] || [ -L "$id.json" ]; }; then
      send safetensors
      send json
      exit
    fi
    printf '"beat"\n' 2>/dev/null || exit
    sleep 0.25 2>/dev/null || sleep 1
  done
}
