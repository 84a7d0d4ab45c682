/** A map that evicts its oldest entry. Reads in lru-cache keep an entry, and its licence is not accepted here. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #entriesMax: number

  constructor(entriesMax: number) {
    super()
    this.#entriesMax = entriesMax
  }

  override set(key: K, value: V): this {
    this.delete(key) // moves the key to the end of the insertion order
    super.set(key, value)
    if (this.size > this.#entriesMax) {
      const oldest = this.keys().next()
      if (!oldest.done) this.delete(oldest.value)
    }
    return this
  }
}
