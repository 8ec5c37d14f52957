# Writes a run folder, and what is appended to it, to standard output: by `orrery stream`, and where there is no Orrery as
# that does:
#     sh -s -- FOLDER METRICS SAMPLES EVENTS < stream.sh
# Of each log this many bytes are there at the other end, and how they end, in hexadecimal digits: BYTES:END.
# It needs sh, wc, head, tail, od, tr, cksum and sleep, and polls, since network file systems announce no changes.
CDPATH='' cd -- "$1" >/dev/null || exit 66
shift
if command -v orrery >/dev/null 2>&1; then
  exec orrery stream --stdio --have "metrics.jsonl=$1" --have "samples.jsonl=$2" --have "events.jsonl=$3" . </dev/null
fi
echo 'there is no `orrery` on the path of that machine: its `sh` and `tail` read the run instead' >&2
metrics=${1%%:*} metrics_end=${1#*:} samples=${2%%:*} samples_end=${2#*:} events=${3%%:*} events_end=${3#*:}
# the first round compares all that is at the other end, and when it has sent the rest a beat says so
run='' config='' round=3
most=262144

# The bytes of a file; nothing if it is a link or not a file.
size() {
  if [ -f "$1" ] && [ ! -L "$1" ]; then echo $(($(wc -c <"$1"))); fi
}

# A number of bytes of a file after an offset, whatever happens to it meanwhile.
bytes() {
  { tail -c "+$(($2 + 1))" "$1" | head -c "$3"; head -c "$3" /dev/zero; } | head -c "$3"
}

# The last bytes, at most 32, of a file's first bytes up to a length.
end_of() {
  length=$(($2 < 32 ? $2 : 32))
  if [ "$length" -gt 0 ]; then bytes "$1" $(($2 - length)) "$length" | od -An -v -tx1 | tr -d ' \n'; fi
}

whole() { # FILE MOST SUM: sends it if it has a sum other than that, which is left in `sum`
  sum=$3
  length=$(size "$1")
  if [ -n "$length" ] && [ "$length" -le "$2" ]; then
    sum=$(cksum <"$1")
    # of the same reading as the sum, if the file is replaced meanwhile
    length=${sum#* }
    length=${length%% *}
    if [ "$sum" != "$3" ] && [ "$length" -le "$2" ]; then
      printf '{"whole":{"file":"%s","bytes":%d}}\n' "$1" "$length"
      bytes "$1" 0 "$length"
    fi
  fi
}

part() { # FILE SIZE SENT END: sends what is new; leaves what is sent in `sent` and `end`
  sent=$3 end=$4
  if [ -z "$2" ]; then return; fi
  # a log of the same length is looked at now and then only
  if [ "$2" -eq "$3" ] && [ $((round % 4)) -ne 3 ]; then return; fi
  if [ "$2" -lt "$3" ] || [ "$(end_of "$1" "$3")" != "$4" ]; then
    other=yes
    return
  fi
  if [ "$2" -eq "$3" ]; then return; fi
  length=$(($2 - $3))
  if [ "$length" -ge "$most" ]; then length=$most more=yes; fi
  printf '{"part":{"file":"%s","from":%d,"bytes":%d}}\n' "$1" "$3" "$length"
  bytes "$1" "$3" "$length"
  sent=$(($3 + length))
  end=$(end_of "$1" "$sent")
}

printf '{"hello":{"version":1}}\n'
while :; do
  # the end of a run is looked for first and told last, so that all that came before it is there
  last=$(size events.jsonl) more='' other=''
  whole run.json 4194304 "$run"
  run=$sum
  whole config.toml 262144 "$config"
  config=$sum
  part metrics.jsonl "$(size metrics.jsonl)" "$metrics" "$metrics_end"
  metrics=$sent metrics_end=$end
  part samples.jsonl "$(size samples.jsonl)" "$samples" "$samples_end"
  samples=$sent samples_end=$end
  if [ -z "$more" ]; then
    part events.jsonl "$last" "$events" "$events_end"
    events=$sent events_end=$end
  fi
  if [ -n "$other" ]; then
    printf '"anew"\n'
    metrics=0 metrics_end='' samples=0 samples_end='' events=0 events_end=''
  elif [ -z "$more" ]; then
    round=$((round + 1))
    if [ $((round % 4)) -eq 0 ]; then printf '"beat"\n'; fi
    sleep 0.5 2>/dev/null || sleep 1
  fi
done
