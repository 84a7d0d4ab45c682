/** A number of places, of which no holder has more than a quarter: a workspace, or a key that nobody has judged yet. */
export class Room {
  readonly #max: number
  readonly #share: number
  readonly #held = new Map<string, number>()
  #taken = 0

  constructor(max: number) {
    this.#max = max
    this.#share = Math.max(1, Math.floor(max / 4))
  }

  get taken(): number {
    return this.#taken
  }

  holds(holder: string): boolean {
    return this.#held.has(holder)
  }

  hasPlace(holder: string): boolean {
    return this.#taken < this.#max && (this.#held.get(holder) ?? 0) < this.#share
  }

  /** Takes a place, also where none is left: ask first. */
  enter(holder: string): void {
    this.#taken += 1
    this.#held.set(holder, (this.#held.get(holder) ?? 0) + 1)
  }

  leave(holder: string): void {
    const left = (this.#held.get(holder) ?? 0) - 1
    this.#taken -= 1
    if (left > 0) this.#held.set(holder, left)
    else this.#held.delete(holder)
  }
}
