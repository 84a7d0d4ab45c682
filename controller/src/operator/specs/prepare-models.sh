#!/bin/sh
# Copies model repositories to /tmp/models with configurations that suit the node, then starts Triton.
#
#   prepare-models.sh CPUINFO COUNT [REPOSITORY MODEL CONFIG]… -- COMMAND [ARGUMENT]…
#
# CPUINFO: where the kernel says what the processor can do. COUNT: instances of each model; empty: as configured. On the
# CPU a model wants one instance to a core, and Triton has no word for that. CONFIG: the configuration that takes the
# place of `cpu`, where the model has it and the processor has VNNI; `cpu` for a model that is to stay as it is.
#
# Only this container knows its node, and milliseconds here are half a second in an init container. Weights are links.
# Of configurations only `cpu.pbtxt` is touched, and of its counts only that of a single group. Its lines are joined by
# N, since BusyBox has no `sed -z`.
#
# The pod's command is this file without the comment at its head.
set -eu
cpuinfo=$1; count=$2; shift 2
while [ "$1" != -- ]; do
  from=$1/$2; to=/tmp/models$1/$2; model=$2; config=$3; mkdir -p "/tmp/models$1"; shift 3
  rm -rf "$to"
  if [ -d "$from" ]; then
    mkdir -p "$to"
    for entry in "$from"/*; do ln -sfn "$entry" "$to/"; done
  fi
  grep -qwE 'avx512_vnni|avx_vnni' "$cpuinfo" && [ -f "$from/configs/$config.pbtxt" ] || config=cpu
  if [ -f "$from/configs/$config.pbtxt" ]; then
    echo "model $model: configs/$config.pbtxt"
    rm "$to/configs"; mkdir "$to/configs"
    sed -E -e ':all' -e '$!{N;b all' -e '}' -e "s/(instance_group[[:space:]]*\[[[:space:]]*\{[^{}]*count[[:space:]]*:[[:space:]]*)([0-9]+)([^{}]*\}[[:space:]]*\])/\1${count:-\2}\3/" \
      "$from/configs/$config.pbtxt" > "$to/configs/cpu.pbtxt"
  fi
done
shift
exec "$@"
