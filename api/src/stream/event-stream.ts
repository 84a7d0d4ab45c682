// One open stream of server-sent events. It holds a page of text at most: while its reader has not taken what it was
// sent, nothing more is read for it.
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { EndReason } from './stream-metrics.ts'

export type StreamOf = {
  readonly workspaceId: string
  readonly sessionId: string
  /** Those whose share of places it counts for, the workspace among them. */
  readonly holders: readonly string[]
  /** When the access token expires, by the clock of this process. */
  readonly tokenEndsAtMs: number
  /** The event after which it begins. */
  readonly after: number
  /** Where it goes: what lies there has not been taken. */
  readonly outgoing: Pick<ServerResponse, 'writableLength' | 'on'>
}

/** Bytes that may wait for its reader before more is read for it; what the kernel holds comes on top. */
const waitingMax = 16 * 1_024

export class EventStream extends Readable {
  readonly workspaceId: string
  readonly sessionId: string
  readonly holders: readonly string[]
  readonly tokenEndsAtMs: number
  /** The last event that it was sent. */
  after: number
  /** Why it ends; undefined: it goes on, unless its client leaves. */
  endReason: EndReason | undefined
  readonly #outgoing: StreamOf['outgoing']
  #stuckSinceMs: number | undefined
  #sentAtMs = 0

  constructor({ workspaceId, sessionId, holders, tokenEndsAtMs, after, outgoing }: StreamOf) {
    super({ highWaterMark: waitingMax })
    this.workspaceId = workspaceId
    this.sessionId = sessionId
    this.holders = holders
    this.tokenEndsAtMs = tokenEndsAtMs
    this.after = after
    this.#outgoing = outgoing
  }

  get takes(): boolean {
    return this.endReason === undefined && !this.destroyed && this.#waiting < waitingMax
  }

  get #waiting(): number {
    return this.readableLength + this.#outgoing.writableLength
  }

  send(text: string, nowMs: number): void {
    if (!this.takes) return
    this.#sentAtMs = nowMs
    this.push(text)
  }

  /** Ends behind what it was sent. */
  end(reason: EndReason): void {
    if (this.endReason !== undefined || this.destroyed) return
    this.endReason = reason
    this.push(null)
  }

  /** Ends now, whatever is still to be taken. */
  cut(reason: EndReason): void {
    this.endReason ??= reason
    this.destroy()
  }

  /** Since when it takes nothing, as far as it was asked: once in a while. */
  stuckForMs(nowMs: number): number {
    this.#stuckSinceMs = this.#waiting < waitingMax ? undefined : (this.#stuckSinceMs ?? nowMs)
    return nowMs - (this.#stuckSinceMs ?? nowMs)
  }

  silentForMs(nowMs: number): number {
    return nowMs - this.#sentAtMs
  }

  /** Nothing to do: text comes when there is some. */
  override _read(): void {}
}
