/** Items by the path of their owners; owners of a level take turns, so one with many items cannot delay others. */
export class OwnerTree<T> {
  readonly #owners = new Map<string, OwnerTree<T>>()
  readonly #items: T[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  of(owner: string): OwnerTree<T> | undefined {
    return this.#owners.get(owner)
  }

  add([owner, ...rest]: readonly string[], item: T): void {
    this.#size += 1
    if (owner === undefined) {
      this.#items.push(item)
      return
    }
    const branch = this.#owners.get(owner) ?? new OwnerTree<T>()
    this.#owners.set(owner, branch)
    branch.add(rest, item)
  }

  remove([owner, ...rest]: readonly string[], item: T): void {
    this.#size -= 1
    if (owner === undefined) {
      this.#items.splice(this.#items.indexOf(item), 1)
      return
    }
    this.#owners.get(owner)?.remove(rest, item)
    if (this.#owners.get(owner)?.size === 0) this.#owners.delete(owner)
  }

  /** Removes the oldest item of the next owner; that owner's next turn comes after all others'. */
  takeNext(): T | undefined {
    const [turn] = this.#owners
    if (this.#size > 0) this.#size -= 1
    if (turn === undefined) return this.#items.shift()
    const [owner, branch] = turn
    const item = branch.takeNext()
    this.#owners.delete(owner)
    if (branch.size > 0) this.#owners.set(owner, branch)
    return item
  }

  /** Item that a new one evicts: the newest of the largest owner. Undefined if no owner has more than the new one's. */
  findExcess([owner, ...rest]: readonly string[]): T | undefined {
    if (owner === undefined) return undefined
    const own = this.#owners.get(owner)
    const largest = this.#largest()
    if (largest !== undefined && largest.size > (own?.size ?? 0) + 1) return largest.#newest()
    return own?.findExcess(rest)
  }

  #newest(): T | undefined {
    const largest = this.#largest()
    return largest === undefined ? this.#items.at(-1) : largest.#newest()
  }

  #largest(): OwnerTree<T> | undefined {
    let largest: OwnerTree<T> | undefined
    for (const branch of this.#owners.values()) {
      if (branch.size >= (largest?.size ?? 0)) largest = branch
    }
    return largest
  }
}

// Turns at a scarce resource for unauthenticated callers, which p-limit cannot do: networks take turns, then clients,
// then accounts. A full queue evicts the newest call of the network with most calls, so a network may fill an idle
// queue but cannot block others. An account gets a quarter of the queue over all networks.
export type TurnOwner = {
  /** Addresses likely to have one holder, such as an IPv4 /24. */
  readonly network: string
  readonly client: string
  /** Account named in the call, whether it exists or not. */
  readonly account: string
}

type Waiting = {
  readonly owner: TurnOwner
  readonly begin: () => void
  readonly refuse: (error: Error) => void
}

type TurnOptions = {
  readonly atOnce: number
  readonly waitingMax: number
  /** Creates the error of a rejected or evicted call. */
  readonly refuse: () => Error
}

type FairTurns = {
  /** @throws the error of `refuse`, before `act` begins */
  run<T>(owner: TurnOwner, act: () => Promise<T>): Promise<T>
  counts(): { readonly running: number; readonly waiting: number }
}

const placeOf = ({ network, client, account }: TurnOwner) => [network, client, account]
const placeInAccount = ({ network, client }: TurnOwner) => [network, client]
const placeByAccount = (owner: TurnOwner) => [owner.account, ...placeInAccount(owner)]

export function fairTurns({ atOnce, waitingMax, refuse }: TurnOptions): FairTurns {
  const waiting = new OwnerTree<Waiting>()
  const byAccount = new OwnerTree<Waiting>()
  const accountMax = Math.max(1, Math.floor(waitingMax / 4))
  let running = 0

  /** Call to evict for this owner. Null: the queue has room. Undefined: reject the new call. */
  function findExcess(owner: TurnOwner): Waiting | null | undefined {
    const ofAccount = byAccount.of(owner.account)
    if (ofAccount !== undefined && ofAccount.size >= accountMax) return ofAccount.findExcess(placeInAccount(owner))
    return waiting.size < waitingMax ? null : waiting.findExcess(placeOf(owner))
  }

  function waitForTurn(owner: TurnOwner): Promise<void> {
    const excess = findExcess(owner)
    if (excess === undefined) throw refuse()
    if (excess !== null) {
      waiting.remove(placeOf(excess.owner), excess)
      byAccount.remove(placeByAccount(excess.owner), excess)
      excess.refuse(refuse())
    }
    return new Promise((begin, reject) => {
      const call = { owner, begin, refuse: reject }
      waiting.add(placeOf(owner), call)
      byAccount.add(placeByAccount(owner), call)
    })
  }

  /** Passes the turn on, so a new call never overtakes waiting ones. */
  function passTurn(): void {
    const next = waiting.takeNext()
    if (next === undefined) {
      running -= 1
      return
    }
    byAccount.remove(placeByAccount(next.owner), next)
    next.begin()
  }

  return {
    run: async (owner, act) => {
      if (running >= atOnce) await waitForTurn(owner)
      else running += 1
      try {
        return await act()
      } finally {
        passTurn()
      }
    },
    counts: () => ({ running, waiting: waiting.size }),
  }
}
