// Compares the models with the checksums in spec before Triton starts. Only pools with a checksum have this init
// container, which costs about half a second of every start.
import type { PoolSpec } from '../pool/pool-spec.ts'
import type { JsonObject } from './merge-patch.ts'
import { readScript } from './read-script.ts'
import { claimsOf, configName, repositoryOf } from './triton-arguments.ts'

export const checksumContainer = 'checksums'

/** Time before a pod with a wrong file compares again. */
const compareAgainSeconds = 60

/** Triton itself downloads models from S3, so there is no file to compare yet. */
export function buildChecksumContainers(spec: PoolSpec): JsonObject[] {
  const claims = claimsOf(spec)
  const compared = spec.models.flatMap(({ name, checksum, source }) =>
    checksum === undefined || source.s3 !== undefined
      ? []
      : [`${repositoryOf(source, claims)}/${name}`, name, checksum],
  )
  if (compared.length === 0) return []
  const script = ['sh', '-c', readScript('compare-checksums.sh'), 'sh']
  // Without the entry point of Triton's image, which prints a lot.
  const command = [...script, String(compareAgainSeconds), configName(spec), ...compared]
  return [{ name: checksumContainer, image: spec.image, imagePullPolicy: spec.imagePullPolicy, command }]
}
