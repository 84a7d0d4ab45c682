// Body of an incoming request. Small chunks are joined before Node queues them, because its limit for queued bodies
// counts bytes and not chunks: 64 KiB in chunks of one byte take 20 MB. One deadline covers the whole body, whether or
// not a handler reads it.
import { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ChunkJoiner } from './chunk-joiner.ts'

export type BodyFault = 'chunks' | 'late'

/** Property of Node's parser that it calls with each chunk. It is undocumented; a test fails if Node changes it. */
const onChunk = 3

/**
 * One read of the socket returns some 11,000 chunks of one byte, and Node parses all of them: in 10 ms, and in 1 ms if
 * it has no function to call.
 */
function ignoreRestOfRead(socket: Socket & { parser?: Record<number, unknown> | null }): void {
  const { parser } = socket
  if (!parser) return
  const call = parser[onChunk]
  parser[onChunk] = undefined
  // Node uses the parser again for other connections, but for none before this callback.
  setImmediate(() => {
    parser[onChunk] = call
  })
}

/** Emits `fault` with a BodyFault when the body must not be read any further. */
export class IncomingBody extends IncomingMessage {
  /** Whether the head announces a body. */
  isExpected = false
  /** The first reason not to read on. */
  fault: BodyFault | undefined
  #joiner: ChunkJoiner | undefined
  #isPassedOn = false
  #flush: NodeJS.Immediate | undefined
  #isChunked: boolean | undefined

  /** Stops reading from the connection. */
  fail(fault: BodyFault): void {
    if (this.fault !== undefined || this.complete) return
    this.fault = fault
    this.emit('fault', fault)
  }

  /** Joins only what arrives together, for a reader that passes each piece on and keeps none. */
  passOn(): void {
    this.#isPassedOn = true
    this.#flushSoon()
  }

  /** Called by Node's parser with each chunk, and with null at the end. */
  override push(chunk: Buffer | null): boolean {
    if (chunk === null) {
      this.#pushRest()
      return super.push(null)
    }
    if (this.fault !== undefined) return false
    this.#joiner ??= new ChunkJoiner()
    const block = this.#joiner.add(chunk)
    // Pieces of a body with a length are TCP packets, whose size the client's network decides.
    if (this.#joiner.hasTooManyChunks && this.#isInChunks()) {
      this.fail('chunks')
      ignoreRestOfRead(this.socket)
      return false
    }
    if (block !== undefined) return super.push(block)
    if (this.#isPassedOn) this.#flushSoon()
    return true
  }

  #pushRest(): void {
    clearImmediate(this.#flush)
    this.#flush = undefined
    const rest = this.#joiner?.end()
    if (rest !== undefined) super.push(rest)
  }

  #flushSoon(): void {
    this.#flush ??= setImmediate(() => {
      if (this.complete || this.destroyed) return
      this.#pushRest()
    })
  }

  /** Hooks change `headers`. */
  #isInChunks(): boolean {
    this.#isChunked ??= !this.rawHeaders.some((name, index) => index % 2 === 0 && /^content-length$/i.test(name))
    return this.#isChunked
  }
}
