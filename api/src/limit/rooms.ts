// Where the requests of this process are: in work, or waiting for something slow, which takes no place in work (A53).
// What is slow is a body, which a client may send as slowly as it likes, and the object store, which may hang. In each
// room a workspace has a quarter of the places; until the credential is judged, so has a key.
import { Room } from '@matte/core/runtime/concurrency/room'

/** Where a request is, for whom, and how many looks at the store it waits for. */
type Stay = { room: Room; readonly holder: string; looks: number }

export class RequestRooms<Request extends object> {
  readonly work: Room
  readonly bodies: Room
  readonly store: Room
  readonly #stays = new Map<Request, Stay>()
  readonly #refuse: () => Error

  /** @param refuse makes the error of a request for which there is no place */
  constructor(requestsInWorkMax: number, refuse: () => Error) {
    this.work = new Room(requestsInWorkMax)
    // Half as many: each may hold 1 MiB.
    this.bodies = new Room(Math.ceil(requestsInWorkMax / 2))
    this.store = new Room(requestsInWorkMax)
    this.#refuse = refuse
  }

  has(request: Request): boolean {
    return this.#stays.has(request)
  }

  /** @throws what `refuse` makes; so do the next four */
  enter(request: Request, holder: string): void {
    this.#ask(this.work, holder)
    this.work.enter(holder)
    this.#stays.set(request, { room: this.work, holder, looks: 0 })
  }

  /** From now on the request counts for another holder. */
  countFor(request: Request, holder: string): void {
    if (!this.#stays.has(request)) return
    this.leave(request)
    this.enter(request, holder)
  }

  awaitBody(request: Request): void {
    const stay = this.#stays.get(request)
    if (stay === undefined) return
    this.#ask(this.bodies, stay.holder)
    move(stay, this.bodies)
  }

  /** The body is there; nothing to do where none was waited for. */
  returnToWork(request: Request): void {
    const stay = this.#stays.get(request)
    if (stay?.room !== this.bodies) return
    this.#ask(this.work, stay.holder)
    move(stay, this.work)
  }

  async atStore<T>(request: Request, look: () => Promise<T>): Promise<T> {
    const stay = this.#stays.get(request)
    if (stay === undefined) return look()
    if (stay.looks === 0) {
      this.#ask(this.store, stay.holder)
      move(stay, this.store)
    }
    stay.looks += 1
    try {
      return await look()
    } finally {
      stay.looks -= 1
      // Without asking for a place: half of its work is done.
      if (stay.looks === 0 && this.#stays.get(request) === stay) move(stay, this.work)
    }
  }

  leave(request: Request): void {
    const stay = this.#stays.get(request)
    stay?.room.leave(stay.holder)
    this.#stays.delete(request)
  }

  #ask(room: Room, holder: string): void {
    if (!room.hasPlace(holder)) throw this.#refuse()
  }
}

function move(stay: Stay, room: Room): void {
  stay.room.leave(stay.holder)
  stay.room = room
  room.enter(stay.holder)
}
