import { KubeError } from '../../kube/client.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { PodPatchForm } from '../../pool/spec/pod-patch.ts'
import type { TritonPool } from '../../pool/triton-pool.ts'
import { isObject, type Json } from '../merge-patch.ts'
import { secretOf } from '../pod-template.ts'
import { findRefusedFields } from './pod-restrictions.ts'

/**
 * Before an object is written, since the definition that is installed may be older than its rules, or of the other
 * form. It is a refusal like one of Kubernetes: the other revision serves on, and the pool says what to do.
 * @throws KubeError 422 PodPatchRefused when the pods of a Deployment would be more than this install allows.
 */
export function refusePods(podPatch: PodPatchForm, pool: TritonPool, object: KubeObject): void {
  if (podPatch === 'any' || object.kind !== 'Deployment') return
  const { spec } = object as KubeObject & { readonly spec?: { readonly template?: Json } }
  const template = spec?.template ?? null
  if (!isObject(template)) return
  const fields = findRefusedFields(template, secretOf(pool.spec))
  if (fields.length > 0) throw new KubeError(422, 'PodPatchRefused', `podPatch sets ${fields.join(', ')}`)
}
