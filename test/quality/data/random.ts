export type Random = {
  /** 0 ≤ value < 1. */
  next(): number
  between(from: number, to: number): number
  /** Bell-shaped around 0, deviation 1. */
  bell(): number
  pick<T>(from: readonly T[]): T
}

/** Repeatable per name on every machine: mulberry32, seeded by the name's FNV-1a hash. */
export function createRandom(name: string): Random {
  let state = hashName(name)
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (from: number, to: number): number => from + (to - from) * next()
  return {
    next,
    between,
    bell: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
    pick<T>(from: readonly T[]): T {
      if (from.length === 0) throw new Error(`nothing to pick from, for ${name}`)
      return from[Math.floor(next() * from.length)] as T
    },
  }
}

function hashName(name: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return hash | 0
}
