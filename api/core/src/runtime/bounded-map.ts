/** A map of at most `entriesMax` entries: past it, the one that was set longest ago goes. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #entriesMax: number

  constructor(entriesMax: number) {
    super()
    this.#entriesMax = entriesMax
  }

  override set(key: K, value: V): this {
    this.delete(key) // a map keeps the order of insertion, so that an entry that is set again becomes the youngest
    super.set(key, value)
    if (this.size > this.#entriesMax) {
      const oldest = this.keys().next()
      if (!oldest.done) this.delete(oldest.value)
    }
    return this
  }
}
