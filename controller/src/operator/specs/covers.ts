import { isObject, type Json } from './merge-patch.ts'

/**
 * Whether `live` has everything in `wanted`; anything else in it is the API server's or somebody else's. The API server
 * rewrites quantities (`1000m` as `1`), so those are compared by value.
 */
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

/** The value of a Kubernetes quantity; undefined if it is none. */
function amountOf(value: Json): number | undefined {
  const [, digits, unit = '', binary] = /^([0-9.]+)([numkMGTPE]?)(i?)$/.exec(String(value)) ?? []
  if (digits === undefined) return undefined
  const power = powers[unit as keyof typeof powers]
  return Number((Number(digits) * (binary ? 1024 : 1000) ** power).toPrecision(12))
}
