// Turns at a scarce resource for callers that are not judged yet. Networks take turns, in a network its clients, and
// for a client the accounts that it names. A full queue accepts a call of a network with few and refuses the newest of
// the network with most. So one network may use all of an idle queue, and keeps no other one out of a busy one. An
// account has a quarter of the queue, whatever networks name it.
import { OwnerTree } from './owner-tree.ts'

/** Owners of a call, from the widest to the narrowest. */
export type TurnOwner = {
  /** Addresses that one holder is likely to have, such as a /24 of IPv4. */
  readonly network: string
  /** The client's address. */
  readonly client: string
  /** The account that the call is about, whether there is one or not. */
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
  /** Makes the error of a call for which there is no room, or no room any more. */
  readonly refuse: () => Error
}

type FairTurns = {
  /** @throws what `refuse` makes; nothing of `act` has begun then */
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

  /** Finds the call that one of this owner replaces. Null: there is room. Undefined: it may replace none. */
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

  /** A call that ends hands its turn on, so a new call never overtakes those that wait. */
  function handOn(): void {
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
        handOn()
      }
    },
    counts: () => ({ running, waiting: waiting.size }),
  }
}
