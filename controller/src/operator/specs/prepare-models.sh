#!/bin/sh
# Copies model repositories to /tmp/models with configurations that suit the node, then starts Triton.
#
#   prepare-models.sh CPUINFO COUNT [REPOSITORY MODEL CHOICE]… -- COMMAND [ARGUMENT]…
#
# CPUINFO: file with the processor's features. COUNT: instances of each model; empty: as configured. On the CPU a model
# needs one instance per core, for which Triton has no setting. CHOICE: `any` replaces `cpu.pbtxt` by the model's first
# configuration for AMX or VNNI that this processor can run; `cpu` keeps it. Configurations that end in `-openvino` need
# an image with OpenVINO, which sets OPENVINO_PACKAGES.
#
# Runs in Triton's container, because an init container would take half a second. Weights are links. Only `cpu.pbtxt` is
# changed, and only if it has a single instance group. Its lines are joined by N, because BusyBox has no `sed -z`.
#
# The pod's command is this file without its head comment.
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
