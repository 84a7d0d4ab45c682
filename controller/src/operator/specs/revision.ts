import { createHash } from 'node:crypto'
import { isObject, type Json } from './merge-patch.ts'

/** The name of a pod template. Equal ones have equal names, so a change that is reverted finds its old Deployment. */
export const revisionOf = (template: Json): string =>
  createHash('sha256').update(canonical(template)).digest('hex').slice(0, 8)

/** JSON with sorted keys. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join()}}`
}
