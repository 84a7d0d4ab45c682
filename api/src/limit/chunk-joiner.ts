/** Bytes of one block; a body in memory is at most one block larger than its bytes. */
const blockBytes = 16_384

/** Chunks of a body that are accepted, whatever its size, and in addition one per KiB. */
const chunksFree = 1_000
const bytesPerChunk = 1_024

/**
 * Joins small chunks of a body into blocks as they arrive. A chunk of one byte costs some 300 bytes of memory, so a
 * reader that keeps chunks needs hundreds of times the bytes that were sent.
 */
export class ChunkJoiner {
  #block: Buffer = Buffer.alloc(0)
  #filled = 0
  #chunks = 0
  #bytes = 0

  /** Whether the body has more than 1,000 chunks and one per KiB, which costs CPU out of proportion (D94). */
  get hasTooManyChunks(): boolean {
    return this.#chunks > chunksFree + this.#bytes / bytesPerChunk
  }

  /** Returns a block once enough bytes have arrived. */
  add(chunk: Buffer): Buffer | undefined {
    this.#chunks += 1
    this.#bytes += chunk.length
    if (this.#filled + chunk.length < blockBytes) {
      this.#keep(chunk)
      return undefined
    }
    const rest = this.end()
    return rest === undefined ? chunk : Buffer.concat([rest, chunk])
  }

  /** Returns the bytes that make no whole block. */
  end(): Buffer | undefined {
    if (this.#filled === 0) return undefined
    const rest = this.#block.subarray(0, this.#filled)
    this.#block = Buffer.alloc(0)
    this.#filled = 0
    return rest
  }

  /** Most bodies have one chunk, which is not copied. */
  #keep(chunk: Buffer): void {
    if (this.#filled === 0) {
      this.#block = chunk
    } else {
      if (this.#block.length < blockBytes) this.#block = Buffer.concat([this.#block], blockBytes)
      chunk.copy(this.#block, this.#filled)
    }
    this.#filled += chunk.length
  }
}
