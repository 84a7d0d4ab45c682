// Compares the models with the checksums that the spec gives, before Triton starts. Only pools with a checksum have it: an
// init container costs about half a second of every start.
import type { PoolSpec } from '../pool/pool-spec.ts'
import type { JsonObject } from './merge-patch.ts'
import { claimsOf, repositoryOf } from './triton-arguments.ts'

export const checksumContainer = 'checksums'

/**
 * A model's file is any `model.*` in the folder of its highest version, which is the one that Triton serves. One of them
 * must be as the spec says. What is not there at all is left to Triton, which says so. A fault is told in the container's
 * last words, one line for each model, `name: what`; then the kubelet starts it again, and it waits before it looks
 * again, so that a file that was put right is found and nothing spins. `$1` is that wait in seconds, then for each model
 * its folder, its name and its checksum.
 */
const script = `set -u
wait=$1; shift
if [ -e /tmp/checksums-differ ]; then sleep "$wait"; fi
: > /dev/termination-log
while [ $# -gt 0 ]; do
  folder=$1; name=$2; wanted=$3; shift 3
  version=$(ls "$folder" 2>/dev/null | grep -E '^[0-9]+$' | sort -n | tail -n 1)
  [ -n "$version" ] || continue
  same=; seen=
  for file in "$folder/$version"/model.*; do
    [ -f "$file" ] || continue
    if sum=$(sha256sum < "$file" 2>&1); then sum="sha256:\${sum%% *}"; fi
    [ "$sum" != "$wanted" ] || same=yes
    seen="$seen$file has $sum, "
  done
  [ -n "$same" ] || echo "$name: \${seen:-there is no file $folder/$version/model.*, }and the spec asks for $wanted" >> /dev/termination-log
done
[ -s /dev/termination-log ] || exit 0
cat /dev/termination-log >&2
: > /tmp/checksums-differ
exit 1
`

/** How long a pod with a wrong file waits before it looks again. */
const lookAgainSeconds = 60

/**
 * The init container, or none when there is nothing to compare. What lies in S3 is fetched by Triton itself, so there is
 * no file to look at yet.
 */
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
      // Without the entry point of Triton's image, which has much to say.
      command: ['sh', '-c', script, 'sh', String(lookAgainSeconds), ...compared],
    },
  ]
}
