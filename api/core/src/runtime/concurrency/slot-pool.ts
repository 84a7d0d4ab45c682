/** Pool of slots; each holder may use a quarter. A slot may count for several holders, such as workspace and member. */
export class SlotPool {
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

  hasSlot(...holders: readonly string[]): boolean {
    return !this.isFull && holders.every((holder) => this.hasShare(holder))
  }

  /** Acquires a slot without checking; call `hasSlot` first. */
  enter(...holders: readonly string[]): void {
    this.#taken += 1
    for (const holder of holders) this.#held.set(holder, (this.#held.get(holder) ?? 0) + 1)
  }

  /** Releases a slot that these holders acquired together. */
  leave(...holders: readonly string[]): void {
    this.#taken -= 1
    for (const holder of holders) {
      const left = (this.#held.get(holder) ?? 0) - 1
      if (left > 0) this.#held.set(holder, left)
      else this.#held.delete(holder)
    }
  }
}
