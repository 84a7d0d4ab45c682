// One open stream of server-sent events. It holds a page of text at most: while its reader has not taken what it was
// sent, it is full, and nothing more is read for it.
import { Readable } from 'node:stream'
import type { EndReason } from './stream-metrics.ts'

export type StreamOf = {
  readonly workspaceId: string
  readonly sessionId: string
  /** When the access token expires, by the clock of this process. */
  readonly tokenEndsAtMs: number
  /** The event after which it begins. */
  readonly after: number
}

/** Bytes; what lies here besides is in the socket. */
const bufferedMax = 16 * 1_024

export class EventStream extends Readable {
  readonly workspaceId: string
  readonly sessionId: string
  readonly tokenEndsAtMs: number
  /** The last event that it was sent. */
  after: number
  /** Why it ends; unless somebody here decides it, the client does. */
  endReason: EndReason = 'client'
  /** Called when it takes more, having been full. */
  onRoom: () => void = () => undefined
  #fullSinceMs: number | undefined
  #sentAtMs = 0

  constructor({ workspaceId, sessionId, tokenEndsAtMs, after }: StreamOf) {
    super({ highWaterMark: bufferedMax })
    this.workspaceId = workspaceId
    this.sessionId = sessionId
    this.tokenEndsAtMs = tokenEndsAtMs
    this.after = after
  }

  /** False: it is ending, or its reader has to take first what it was sent. */
  get takes(): boolean {
    return this.#fullSinceMs === undefined && !this.destroyed && !this.readableEnded && !this.#ending
  }

  get #ending(): boolean {
    return this.endReason !== 'client'
  }

  send(text: string, nowMs: number): void {
    if (!this.takes) return
    this.#sentAtMs = nowMs
    if (!this.push(text)) this.#fullSinceMs = nowMs
  }

  /** Ends behind what it was sent. */
  end(reason: EndReason): void {
    if (this.#ending || this.destroyed) return
    this.endReason = reason
    this.push(null)
  }

  /** Ends now, whatever is still to be taken. */
  cut(reason: EndReason): void {
    if (this.destroyed) return
    if (!this.#ending) this.endReason = reason
    this.destroy()
  }

  fullForMs(nowMs: number): number {
    return this.#fullSinceMs === undefined ? 0 : nowMs - this.#fullSinceMs
  }

  silentForMs(nowMs: number): number {
    return nowMs - this.#sentAtMs
  }

  override _read(): void {
    if (this.#fullSinceMs === undefined) return
    this.#fullSinceMs = undefined
    this.onRoom()
  }
}
