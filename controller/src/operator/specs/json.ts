import { createHash } from 'node:crypto'

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }

/** RFC 7396. The package json-merge-patch changes its target; this does not. */
export function mergePatch(target: Json, patch: Json): Json {
  if (!isObject(patch)) return patch
  const merged: Record<string, Json> = isObject(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else merged[key] = mergePatch(merged[key] ?? null, value)
  }
  return merged
}

export const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether `live` contains everything in `wanted`. Quantities are compared by value (`1000m` is `1`). */
export function covers(live: Json | undefined, wanted: Json | undefined): boolean {
  if (wanted === undefined || live === wanted) return true
  if (live === undefined) return isEmpty(wanted)
  if (Array.isArray(wanted)) {
    if (!Array.isArray(live) || live.length !== wanted.length) return false
    return wanted.every((item, index) => covers(live[index], item))
  }
  if (isObject(wanted)) {
    return isObject(live) && Object.entries(wanted).every(([key, value]) => covers(live[key], value))
  }
  const [a, b] = [amountOf(live), amountOf(wanted)]
  return a !== undefined && a === b
}

/** The API server treats absent and empty alike. */
const isEmpty = (value: Json): boolean =>
  value === null || (typeof value === 'object' ? Object.keys(value).length === 0 : !value)

const powers = { n: -3, u: -2, m: -1, '': 0, k: 1, M: 2, G: 3, T: 4, P: 5, E: 6 } as const

function amountOf(value: Json): number | undefined {
  const [, digits, unit = '', binary] = /^([0-9.]+)([numkMGTPE]?)(i?)$/.exec(String(value)) ?? []
  if (digits === undefined) return undefined
  const power = powers[unit as keyof typeof powers]
  return Number((Number(digits) * (binary ? 1024 : 1000) ** power).toPrecision(12))
}

/** Name of a pod template by content, so a reverted change finds its old Deployment. */
export const revisionOf = (template: Json): string =>
  createHash('sha256').update(canonical(template)).digest('hex').slice(0, 8)

export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join()}}`
}
