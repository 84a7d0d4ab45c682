#!/bin/sh
# Copies model repositories to /tmp/models with one instance of each model for each core, then starts Triton.
#
#   prepare-models.sh COUNT [REPOSITORY MODEL]… -- COMMAND [ARGUMENT]…
#
# On the CPU a model wants one instance to a core, and Triton has no word for that: the count is written into a copy of
# the configuration, in Triton's own container, which costs milliseconds where an init container would cost half a
# second of every start. Weights are links. Only `cpu.pbtxt` with a single group is touched.
#
# The pod's command is this file without the comment at its head.
set -eu
count=$1; shift
while [ "$1" != -- ]; do
  from=$1/$2; to=/tmp/models$1/$2; mkdir -p "/tmp/models$1"; shift 2
  rm -rf "$to"
  if [ -d "$from" ]; then
    mkdir -p "$to"
    for entry in "$from"/*; do ln -sfn "$entry" "$to/"; done
  fi
  if [ -f "$from/configs/cpu.pbtxt" ]; then
    rm "$to/configs"; mkdir "$to/configs"
    sed -zE "s/(instance_group[[:space:]]*\[[[:space:]]*\{[^{}]*count[[:space:]]*:[[:space:]]*)[0-9]+([^{}]*\}[[:space:]]*\])/\1$count\2/" \
      "$from/configs/cpu.pbtxt" > "$to/configs/cpu.pbtxt"
  fi
done
shift
exec "$@"
