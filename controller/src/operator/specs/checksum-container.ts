// Compares the models with the checksums in spec before Triton starts. Only pools with a checksum have this init
// container, which costs about half a second of every start.
import type { PoolSpec } from '../pool/pool-spec.ts'
import type { JsonObject } from './merge-patch.ts'
import { claimsOf, configName, repositoryOf } from './triton-arguments.ts'

export const checksumContainer = 'checksums'

/**
 * The file of a model is the one that Triton loads from the folder of the highest version: `default_model_filename` of
 * the configuration, or the usual name of the backend that the configuration names, or the first of the usual names
 * that exists, in Triton's order. A model without a folder is left to Triton, which reports it. A wrong file is
 * reported in the container's termination message, one line for each model, `name: what`. The kubelet then restarts the
 * container, which waits before it compares again: it finds a corrected file and does not spin. `$1` is that wait in
 * seconds, `$2` the name of the configuration, then for each model its folder, its name and its checksum.
 */
const script = `set -u
wait=$1; config=$2; shift 2
if [ -e /tmp/checksums-differ ]; then sleep "$wait"; fi
: > /dev/termination-log
setting() {
  sed 's/#.*//' "$1" 2>/dev/null | tr '\\n\\t\\r' '   ' | sed -n "s/.*\\<$2 *: *[\\"']\\([^\\"']*\\)[\\"'].*/\\1/p"
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
  if sum=$(sha256sum < "$file" 2>&1); then sum="sha256:\${sum%% *}"; fi
  [ "$sum" = "$wanted" ] || echo "$name: $file has $sum, and the spec asks for $wanted" >> /dev/termination-log
done
[ -s /dev/termination-log ] || exit 0
cat /dev/termination-log >&2
: > /tmp/checksums-differ
exit 1
`

/** Time before a pod with a wrong file compares again. */
const compareAgainSeconds = 60

/** None when there is nothing to compare. Triton itself downloads models from S3, so there is no file yet. */
export function buildChecksumContainers(spec: PoolSpec): JsonObject[] {
  const claims = claimsOf(spec)
  const compared = spec.models.flatMap(({ name, checksum, source }) =>
    checksum === undefined || source.s3 !== undefined
      ? []
      : [`${repositoryOf(source, claims)}/${name}`, name, checksum],
  )
  if (compared.length === 0) return []
  return [
    {
      name: checksumContainer,
      image: spec.image,
      imagePullPolicy: spec.imagePullPolicy,
      // Without the entry point of Triton's image, which prints a lot.
      command: ['sh', '-c', script, 'sh', String(compareAgainSeconds), configName(spec), ...compared],
    },
  ]
}
