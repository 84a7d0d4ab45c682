// Concurrency slots for requests. A request uses a slot of `work`, except while it waits for its body or for the object
// store: both may be slow, and have their own slots (A53). Each holder may use a quarter of each pool. Until
// authentication the holder is the key.
import { SlotPool } from '@matte/core/runtime/concurrency/slot-pool'

/** `reads`: reads of the object store in progress. */
type Admitted = { pool: SlotPool; readonly holder: string; reads: number }

/** Bodies with a credential, without one, those whose response was sent before them, and uploads. */
type BodyKind = 'bodies' | 'openBodies' | 'leftovers' | UploadKind

/** Uploads whose URL this process has verified, and others, which the store verifies. */
export type UploadKind = 'uploads' | 'openUploads'

type Sizes = {
  readonly requestsInWorkMax: number
  readonly uploadsMax: number
}

export class RequestAdmission<Request extends object> {
  readonly work: SlotPool
  readonly bodies: SlotPool
  /** Separate, so clients without a credential cannot fill the slots of callers. */
  readonly openBodies: SlotPool
  /** Bodies that still arrive after their response. */
  readonly leftovers: SlotPool
  readonly uploads: SlotPool
  /** Separate too: a store may read a whole body before it refuses the signature. */
  readonly openUploads: SlotPool
  readonly store: SlotPool
  readonly #admitted = new Map<Request, Admitted>()
  readonly #refuse: () => Error

  /** @param refuse creates the error for a request without a slot */
  constructor({ requestsInWorkMax, uploadsMax }: Sizes, refuse: () => Error) {
    this.work = new SlotPool(requestsInWorkMax)
    // Half as many: each may hold 1 MiB.
    this.bodies = new SlotPool(Math.ceil(requestsInWorkMax / 2))
    this.openBodies = new SlotPool(Math.ceil(requestsInWorkMax / 2))
    this.leftovers = new SlotPool(Math.ceil(requestsInWorkMax / 2))
    this.uploads = new SlotPool(uploadsMax)
    this.openUploads = new SlotPool(Math.ceil(uploadsMax / 8))
    this.store = new SlotPool(requestsInWorkMax)
    this.#refuse = refuse
  }

  has(request: Request): boolean {
    return this.#admitted.has(request)
  }

  /** @throws the error of `refuse`, as do the next four methods */
  enter(request: Request, holder: string): void {
    this.#ask(this.work, holder)
    this.work.enter(holder)
    this.#admitted.set(request, { pool: this.work, holder, reads: 0 })
  }

  countFor(request: Request, holder: string): void {
    if (!this.#admitted.has(request)) return
    this.leave(request)
    this.enter(request, holder)
  }

  /** Also admits a request that needs no work: one that is only passed on, or that was answered before its body. */
  awaitBody(request: Request, kind: BodyKind, address: string): void {
    const admitted = this.#admitted.get(request)
    const pool = this[kind]
    this.#ask(pool, admitted?.holder ?? address)
    if (admitted !== undefined) {
      move(admitted, pool)
      return
    }
    pool.enter(address)
    this.#admitted.set(request, { pool, holder: address, reads: 0 })
  }

  returnToWork(request: Request): void {
    const admitted = this.#admitted.get(request)
    if (admitted === undefined || admitted.pool === this.work) return
    this.#ask(this.work, admitted.holder)
    move(admitted, this.work)
  }

  async awaitStore<T>(request: Request, read: () => Promise<T>): Promise<T> {
    const admitted = this.#admitted.get(request)
    if (admitted === undefined) return read()
    if (admitted.reads === 0) {
      this.#ask(this.store, admitted.holder)
      move(admitted, this.store)
    }
    admitted.reads += 1
    try {
      return await read()
    } finally {
      admitted.reads -= 1
      // Takes a slot even if none is free: half of the work is done.
      if (admitted.reads === 0 && this.#admitted.get(request) === admitted) move(admitted, this.work)
    }
  }

  leave(request: Request): void {
    const admitted = this.#admitted.get(request)
    admitted?.pool.leave(admitted.holder)
    this.#admitted.delete(request)
  }

  #ask(pool: SlotPool, holder: string): void {
    if (!pool.hasSlot(holder)) throw this.#refuse()
  }
}

function move(admitted: Admitted, pool: SlotPool): void {
  admitted.pool.leave(admitted.holder)
  admitted.pool = pool
  pool.enter(admitted.holder)
}
