#!/bin/sh
# Compares model files with the checksums in spec, before Triton starts.
#
#   compare-checksums.sh WAIT CONFIG [FOLDER NAME CHECKSUM]…
#
# WAIT: seconds before a container that found a difference compares again. CONFIG: the name of the configuration that
# Triton reads. FOLDER: the model's folder in its repository.
#
# The file is the one that Triton loads from the highest version: `default_model_filename` of the configuration, else
# the default name of its backend, else the first existing default name in Triton's order. Triton reports a missing
# file. A difference is written to the termination message, one line `name: message` per model, and the kubelet restarts
# the container.
#
# The pod's command is this file without its head comment.
# shellcheck disable=SC2010 # of what `ls` prints, only names of digits are used
set -u
wait=$1; config=$2; shift 2
if [ -e /tmp/checksums-differ ]; then sleep "$wait"; fi
: > /dev/termination-log
setting() {
  sed 's/#.*//' "$1" 2>/dev/null | tr '\n\t\r' '   ' | sed -n "s/.*\<$2 *: *[\"']\([^\"']*\)[\"'].*/\1/p"
}
while [ $# -gt 0 ]; do
  folder=$1; name=$2; wanted=$3; shift 3
  version=$(ls "$folder" 2>/dev/null | grep -E '^[0-9]+$' | sort -n | tail -n 1)
  [ -n "$version" ] || continue
  text=$folder/configs/$config.pbtxt
  [ -f "$text" ] || text=$folder/config.pbtxt
  names=$(setting "$text" default_model_filename)
  if [ -z "$names" ]; then
    case $(setting "$text" backend),$(setting "$text" platform) in
      *onnxruntime*) names=model.onnx ;;
      *tensorrt_plan*|tensorrt,*) names=model.plan ;;
      *pytorch*) names=model.pt ;;
      *tensorflow_graphdef*) names=model.graphdef ;;
      *openvino*) names=model.xml ;;
      python,*) names=model.py ;;
      *) names='model.graphdef model.plan model.onnx model.xml model.pt model.py' ;;
    esac
  fi
  file=
  for one in $names; do
    if [ -f "$folder/$version/$one" ]; then file=$folder/$version/$one; break; fi
  done
  if [ -z "$file" ]; then
    echo "$name: $folder/$version has no file $names, and the spec asks for $wanted" >> /dev/termination-log
    continue
  fi
  if sum=$(sha256sum < "$file" 2>&1); then sum="sha256:${sum%% *}"; fi
  [ "$sum" = "$wanted" ] || echo "$name: $file has $sum, and the spec asks for $wanted" >> /dev/termination-log
done
[ -s /dev/termination-log ] || exit 0
cat /dev/termination-log >&2
: > /tmp/checksums-differ
exit 1
