import { judgeLicences, type LicencePolicy } from '@matte/core/model/licence-policy'
import { KubeError } from '../../kube/client.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { PodPatchPolicy } from '../../pool/spec/pod-patch.ts'
import type { TritonPool } from '../../pool/triton-pool.ts'
import { isObject, type Json, type JsonObject } from '../merge-patch.ts'
import { secretOf } from '../pod-template.ts'
import { findRefusedFields, serviceAccountPath } from './pod-restrictions.ts'

type Limits = { readonly podPatch: PodPatchPolicy; readonly licences: LicencePolicy }

/**
 * Before an object is written, since the definition that is installed may be older than its rules, or of the other
 * form. It is a refusal like one of Kubernetes: the other revision serves on, and the pool says what to do.
 * @throws KubeError 422 PodPatchRefused or LicenceRefused when the pods of a Deployment would be more than this install
 * allows.
 */
export function refusePods({ podPatch, licences }: Limits, pool: TritonPool, object: KubeObject): void {
  if (object.kind !== 'Deployment') return
  refuseLicences(licences, pool)
  if (podPatch.form === 'any') return
  const { spec } = object as KubeObject & { readonly spec?: { readonly template?: Json } }
  const template = spec?.template ?? null
  if (!isObject(template)) return
  const { serviceAccounts } = podPatch
  const fields = findRefusedFields(template, { ownSecret: secretOf(pool.spec), serviceAccounts })
  if (fields.length > 0) throw new KubeError(422, 'PodPatchRefused', messageOf(fields, template))
}

function messageOf(fields: readonly string[], { spec = null }: JsonObject): string {
  const others = fields.filter((field) => field !== serviceAccountPath)
  const said = others.length > 0 ? [`podPatch sets ${others.join(', ')}`] : []
  if (others.length < fields.length) {
    const name = JSON.stringify(isObject(spec) ? spec.serviceAccountName : null)
    said.push(`the service account ${name} is not allowed: add it to operator.podServiceAccounts`)
  }
  return said.join('; ')
}

/** A model that spec says nothing of is judged when its pod has said what it is. */
function refuseLicences(policy: LicencePolicy, { spec }: TritonPool): void {
  for (const { name, licence } of spec.models) {
    const refused = licence === undefined ? undefined : judgeLicences(policy, name, [licence])
    if (refused) throw new KubeError(422, 'LicenceRefused', refused.message)
  }
}
