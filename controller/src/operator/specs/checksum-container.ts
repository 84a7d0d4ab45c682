// Compares the models with the checksums that the spec gives, before Triton starts. Only pools with a checksum have it: an
// init container costs about half a second of every start.
import type { PoolSpec } from '../pool/pool-spec.ts'
import type { JsonObject } from './merge-patch.ts'
import { readScript } from './read-script.ts'
import { claimsOf, configName, repositoryOf } from './triton-arguments.ts'

export const checksumContainer = 'checksums'

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
  const script = ['sh', '-c', readScript('compare-checksums.sh'), 'sh']
  return [
    {
      name: checksumContainer,
      image: spec.image,
      imagePullPolicy: spec.imagePullPolicy,
      // Without the entry point of Triton's image, which has much to say.
      command: [...script, String(lookAgainSeconds), configName(spec), ...compared],
    },
  ]
}
