const blockBytes = 65_536

/**
 * Copies of the chunks of an answer, joined. A chunk is a view of the packet that it came in, so one byte behind a long
 * chunk extension would keep 64 KiB in memory.
 */
export class ByteBlocks {
  readonly #blocks: Buffer[] = []
  /** Bytes of the last block that are in use. */
  #filled = blockBytes
  #length = 0

  get length(): number {
    return this.#length
  }

  add(chunk: Buffer): void {
    for (let from = 0; from < chunk.length; ) {
      if (this.#filled === blockBytes) this.#begin()
      const copied = chunk.copy(this.#blocks.at(-1) as Buffer, this.#filled, from)
      this.#filled += copied
      this.#length += copied
      from += copied
    }
  }

  /** All bytes, in blocks of 64 KiB and a rest. */
  read(): Buffer[] {
    return this.#blocks.map((block, index) =>
      index === this.#blocks.length - 1 ? block.subarray(0, this.#filled) : block,
    )
  }

  #begin(): void {
    this.#blocks.push(Buffer.allocUnsafeSlow(blockBytes))
    this.#filled = 0
  }
}
