/**
 * Items by the path of their owners, such as a network and an account in it. At each level owners take turns, so an
 * owner with a thousand items delays another one by one item.
 */
export class OwnerTree<T> {
  /** In the order of their turns. */
  readonly #owners = new Map<string, OwnerTree<T>>()
  /** At the end of a path. */
  readonly #items: T[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Undefined: no item has an owner of this name. */
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

  /** Removes an item that was added with this path. */
  remove([owner, ...rest]: readonly string[], item: T): void {
    this.#size -= 1
    if (owner === undefined) {
      this.#items.splice(this.#items.indexOf(item), 1)
      return
    }
    this.#owners.get(owner)?.remove(rest, item)
    if (this.#owners.get(owner)?.size === 0) this.#owners.delete(owner)
  }

  /** Removes the oldest item of the owner whose turn it is; that owner's next turn comes after those of all others. */
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

  /**
   * Finds the item that a new one of this path replaces: the newest of the owner with most items. Undefined if no owner
   * has more than the new item's owner would have, so the new item has no better claim.
   */
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

  /** Among equals, the owner whose turn comes last. */
  #largest(): OwnerTree<T> | undefined {
    let largest: OwnerTree<T> | undefined
    for (const branch of this.#owners.values()) {
      if (branch.size >= (largest?.size ?? 0)) largest = branch
    }
    return largest
  }
}
