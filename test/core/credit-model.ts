// The ledger as a model in plain numbers, without a database (D31, D71), to compare with the real one in
// credit-properties.faults.test.ts. Time is in hours since the start of a sequence; expiries are at half hours and
// commands at full hours, so nothing happens exactly at a bound.

export type ModelLot = {
  readonly id: string
  readonly priority: number
  readonly expiresAt: number | null
  graceUntil: number | null
  available: number
  held: number
  spent: number
  expired: number
  refunded: number
  adjusted: number
}

export type ModelTask = {
  readonly id: string
  readonly model: string
  status: 'queued' | 'succeeded' | 'failed' | 'canceled'
  run: number
  holds: { readonly lot: ModelLot; readonly amount: number; readonly heldAt: number }[]
}

export type Model = {
  hour: number
  lots: ModelLot[]
  tasks: ModelTask[]
  /** Lots by the source of their grant, refunds by their reference. */
  sources: Map<string, { lot: ModelLot; amount: number }>
  refunds: Map<string, number>
  /** Adjustments by their reference. */
  adjustments: Map<string, number>
}

export const newModel = (): Model => ({
  hour: 0,
  lots: [],
  tasks: [],
  sources: new Map(),
  refunds: new Map(),
  adjustments: new Map(),
})

const endOf = ({ expiresAt, graceUntil }: ModelLot): number =>
  expiresAt === null ? Number.POSITIVE_INFINITY : Math.max(expiresAt, graceUntil ?? 0)

export const isSpendable = (model: Model, lot: ModelLot): boolean => endOf(lot) > model.hour

/** Lots with available credits, ordered by priority, expiry, age. */
const spendable = (model: Model): ModelLot[] =>
  model.lots
    .filter((lot) => isSpendable(model, lot))
    .map((lot, age) => ({ lot, age }))
    .sort(
      (a, b) =>
        a.lot.priority - b.lot.priority ||
        (a.lot.expiresAt ?? Number.MAX_VALUE) - (b.lot.expiresAt ?? Number.MAX_VALUE) ||
        a.age - b.age,
    )
    .map(({ lot }) => lot)

export const availableIn = (model: Model): number => spendable(model).reduce((sum, lot) => sum + lot.available, 0)

/** Parts of a hold; undefined if credits are missing. */
export function hold(model: Model, amount: number): ModelTask['holds'] | undefined {
  if (availableIn(model) < amount) return undefined
  const parts: ModelTask['holds'] = []
  let rest = amount
  for (const lot of spendable(model)) {
    const part = Math.min(rest, lot.available)
    if (part === 0) continue
    lot.available -= part
    lot.held += part
    rest -= part
    parts.push({ lot, amount: part, heldAt: model.hour })
  }
  return parts
}

export function capture(task: ModelTask): void {
  for (const { lot, amount } of task.holds) {
    lot.held -= amount
    lot.spent += amount
  }
  task.holds = []
}

/** Returns credits to their lots; after the expiry with 72 more hours, and without credits that were not held. */
export function release(model: Model, task: ModelTask): void {
  for (const { lot, amount, heldAt } of task.holds) {
    if (!isSpendable(model, lot)) expire(lot)
    if (lot.expiresAt !== null && heldAt < lot.expiresAt && lot.expiresAt <= model.hour)
      lot.graceUntil = model.hour + 72
    lot.held -= amount
    lot.available += amount
  }
  task.holds = []
}

function expire(lot: ModelLot): void {
  lot.expired += lot.available
  lot.available = 0
}

export function sweep(model: Model): void {
  for (const lot of model.lots) if (!isSpendable(model, lot)) expire(lot)
}
