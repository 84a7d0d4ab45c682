// One open server-sent-event stream. Buffers at most one page: reads pause while the client has not received it.
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { EndReason } from './stream-metrics.ts'

export type StreamOf = {
  readonly workspaceId: string
  readonly sessionId: string
  readonly holders: readonly string[]
  readonly tokenEndsAtMs: number
  readonly after: number
  /** The response, whose buffer counts as unsent. */
  readonly outgoing: Pick<ServerResponse, 'writableLength' | 'on'>
}

/** Buffered bytes at which reads pause, without the kernel's buffers. */
const waitingMax = 16 * 1_024

export class EventStream extends Readable {
  readonly workspaceId: string
  readonly sessionId: string
  readonly holders: readonly string[]
  readonly tokenEndsAtMs: number
  after: number
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

  end(reason: EndReason): void {
    if (this.endReason !== undefined || this.destroyed) return
    this.endReason = reason
    this.push(null)
  }

  cut(reason: EndReason): void {
    this.endReason ??= reason
    this.destroy()
  }

  stuckForMs(nowMs: number): number {
    this.#stuckSinceMs = this.#waiting < waitingMax ? undefined : (this.#stuckSinceMs ?? nowMs)
    return nowMs - (this.#stuckSinceMs ?? nowMs)
  }

  silentForMs(nowMs: number): number {
    return nowMs - this.#sentAtMs
  }

  override _read(): void {}
}
