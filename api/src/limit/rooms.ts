// Where the requests of this process are: in work, or waiting for something slow, which takes no place in work (A53).
// What is slow is a body, which a client may send as slowly as it likes, and the object store, which may hang. In each
// room a workspace has a quarter of the places; until the credential is judged, so has a key.
import { Room } from './room.ts'

/** Where a request is, for whom, and how many looks at the store it waits for. */
type Stay = { room: Room; readonly holder: string; looks: number }

/** @param refuse makes the error of a request for which there is no place */
export function requestRooms<Request extends object>(requestsInWorkMax: number, refuse: () => Error) {
  const work = new Room(requestsInWorkMax)
  // Half as many: each may hold 1 MiB.
  const bodies = new Room(Math.ceil(requestsInWorkMax / 2))
  const store = new Room(requestsInWorkMax)
  const stays = new Map<Request, Stay>()

  function ask(room: Room, holder: string): void {
    if (!room.hasPlace(holder)) throw refuse()
  }
  function enter(request: Request, holder: string): void {
    ask(work, holder)
    work.enter(holder)
    stays.set(request, { room: work, holder, looks: 0 })
  }
  function leave(request: Request): void {
    const stay = stays.get(request)
    stay?.room.leave(stay.holder)
    stays.delete(request)
  }
  function move(stay: Stay, room: Room): void {
    stay.room.leave(stay.holder)
    stay.room = room
    room.enter(stay.holder)
  }

  return {
    work,
    bodies,
    store,
    has: (request: Request): boolean => stays.has(request),
    /** @throws what `refuse` makes; so do the next four */
    enter,
    /** From now on the request counts for another holder. */
    countFor(request: Request, holder: string): void {
      if (!stays.has(request)) return
      leave(request)
      enter(request, holder)
    },
    awaitBody(request: Request): void {
      const stay = stays.get(request)
      if (stay === undefined) return
      ask(bodies, stay.holder)
      move(stay, bodies)
    },
    /** The body is there; nothing to do where none was waited for. */
    returnToWork(request: Request): void {
      const stay = stays.get(request)
      if (stay?.room !== bodies) return
      ask(work, stay.holder)
      move(stay, work)
    },
    async atStore<T>(request: Request, look: () => Promise<T>): Promise<T> {
      const stay = stays.get(request)
      if (stay === undefined) return look()
      if (stay.looks === 0) {
        ask(store, stay.holder)
        move(stay, store)
      }
      stay.looks += 1
      try {
        return await look()
      } finally {
        stay.looks -= 1
        // Without asking for a place: half of its work is done.
        if (stay.looks === 0 && stays.get(request) === stay) move(stay, work)
      }
    },
    leave,
  }
}
