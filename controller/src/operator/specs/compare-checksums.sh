#!/bin/sh
# Compares the files of models with the checksums that the spec gives, before Triton starts.
#
#   compare-checksums.sh WAIT CONFIG [FOLDER NAME CHECKSUM]…
#
# WAIT: seconds before a container that found a difference looks again, so that a file that was put right is found and
# nothing spins. CONFIG: the name of the configuration that Triton reads. FOLDER: of the model in its repository.
#
# A model's file is the one that Triton loads, in the folder of the highest version, which is the one that Triton
# serves: `default_model_filename` of the configuration, else the usual name of the backend that this names, else the
# first of the usual names that is there, in the order in which Triton takes them. What is not there at all is left to
# Triton, which reports it. A difference goes into the termination message, one line for each model, `name: what`; then
# the kubelet starts the container again.
#
# The pod's command is this file without the comment at its head.
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
