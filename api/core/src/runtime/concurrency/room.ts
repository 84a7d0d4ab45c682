/**
 * A number of places, of which no holder has more than a quarter: a workspace, a person, or a key that is not judged
 * yet. A place may count for several holders, such as a workspace and its member.
 */
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

  get isFull(): boolean {
    return this.#taken >= this.#max
  }

  holds(holder: string): boolean {
    return this.#held.has(holder)
  }

  hasShare(holder: string): boolean {
    return (this.#held.get(holder) ?? 0) < this.#share
  }

  hasPlace(...holders: readonly string[]): boolean {
    return !this.isFull && holders.every((holder) => this.hasShare(holder))
  }

  /** Takes a place, also where none is left: ask first. */
  enter(...holders: readonly string[]): void {
    this.#taken += 1
    for (const holder of holders) this.#held.set(holder, (this.#held.get(holder) ?? 0) + 1)
  }

  /** Gives back a place that these holders have taken together. */
  leave(...holders: readonly string[]): void {
    this.#taken -= 1
    for (const holder of holders) {
      const left = (this.#held.get(holder) ?? 0) - 1
      if (left > 0) this.#held.set(holder, left)
      else this.#held.delete(holder)
    }
  }
}
