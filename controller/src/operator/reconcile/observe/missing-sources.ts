// Claims and Secrets that the spec names and that do not exist, by what Kubernetes reports while it cannot start a pod.
// Reading them ourselves would need permission to read every Secret of the namespace.
import type { PodObservation, PoolObservation } from '../../pool/status/observation.ts'
import type { TritonPool } from '../../pool/triton-pool.ts'

export function missingSourcesOf(
  { spec }: TritonPool,
  pods: readonly PodObservation[],
): PoolObservation['missingSources'] {
  const words = pods.flatMap(({ draining, ready, unschedulable, waiting }) =>
    draining || ready ? [] : [unschedulable ?? waiting?.message ?? ''],
  )
  const isMissing = (kind: string, name: string): boolean =>
    words.some((text) => text.includes(`${kind} "${name}" not found`))
  return spec.models.flatMap(({ name: model, source }) => {
    const { persistentVolumeClaim: claim, s3 } = source
    if (claim && isMissing('persistentvolumeclaim', claim.claimName)) {
      return [{ model, message: `there is no PersistentVolumeClaim ${claim.claimName} in the pool's namespace` }]
    }
    if (s3?.secretName !== undefined && isMissing('secret', s3.secretName)) {
      return [{ model, message: `there is no Secret ${s3.secretName} in the pool's namespace` }]
    }
    return []
  })
}
