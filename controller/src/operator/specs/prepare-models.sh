#!/bin/sh
# Copies model repositories to /tmp/models with configurations that suit the node, then starts Triton.
#
#   prepare-models.sh CPUINFO COUNT [REPOSITORY MODEL CHOICE]… -- COMMAND [ARGUMENT]…
#
# CPUINFO: where the kernel says what the processor can do. COUNT: instances of each model; empty: as configured. On the
# CPU a model wants one instance to a core, and Triton has no word for that. CHOICE: `any`: of the configurations for
# processors with AMX or VNNI, the first that the model has and this one can run takes the place of `cpu`; `cpu` for a
# model that is to stay as it is. Those whose names end in `-openvino` want an image that has it, which it says by
# OPENVINO_PACKAGES.
#
# Only this container knows its node, and milliseconds here are half a second in an init container. Weights are links.
# Of configurations only `cpu.pbtxt` is touched, and of its counts only that of a single group. Its lines are joined by
# N, since BusyBox has no `sed -z`.
#
# The pod's command is this file without the comment at its head.
set -eu
cpuinfo=$1; count=$2; shift 2
forms=
if grep -qwE 'avx512_vnni|avx_vnni' "$cpuinfo"; then forms="${OPENVINO_PACKAGES:+cpu-vnni-openvino} cpu-vnni"; fi
if grep -qw amx_bf16 "$cpuinfo"; then forms="${OPENVINO_PACKAGES:+cpu-amx-openvino} $forms"; fi
while [ "$1" != -- ]; do
  from=$1/$2; to=/tmp/models$1/$2; model=$2; choice=$3; mkdir -p "/tmp/models$1"; shift 3
  rm -rf "$to"
  if [ -d "$from" ]; then
    mkdir -p "$to"
    for entry in "$from"/*; do ln -sfn "$entry" "$to/"; done
  fi
  chosen=
  if [ "$choice" = any ]; then
    for form in $forms; do
      if [ -z "$chosen" ] && [ -f "$from/configs/$form.pbtxt" ]; then chosen=$form; fi
    done
  fi
  chosen=${chosen:-cpu}
  if [ -f "$from/configs/$chosen.pbtxt" ]; then
    echo "model $model: configs/$chosen.pbtxt"
    rm "$to/configs"; mkdir "$to/configs"
    sed -E -e ':all' -e '$!{N;b all' -e '}' -e "s/(instance_group[[:space:]]*\[[[:space:]]*\{[^{}]*count[[:space:]]*:[[:space:]]*)([0-9]+)([^{}]*\}[[:space:]]*\])/\1${count:-\2}\3/" \
      "$from/configs/$chosen.pbtxt" > "$to/configs/cpu.pbtxt"
  fi
done
shift
exec "$@"
