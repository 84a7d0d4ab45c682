// One open server-sent-event stream. Buffers at most one page: reads pause while the client has not received it.
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { EndReason } from './stream-metrics.ts'

export type StreamOf = {
  readonly workspaceId: string
  readonly holders: readonly string[]
  /** Expiry of the access token; absent for an API key. */
  readonly tokenEndsAtMs?: number
  /** The response, whose buffer counts as unsent. */
  readonly outgoing: Pick<ServerResponse, 'writableLength' | 'on'>
}

/** `x-accel-buffering` disables buffering in nginx and other proxies. */
export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'x-accel-buffering': 'no',
}

/** Buffered bytes at which reads pause, without the kernel's buffers. */
const waitingMax = 16 * 1_024

export class EventStream<Of extends StreamOf = StreamOf> extends Readable {
  readonly of: Of
  /** Position: the last event that was sent or filtered out. */
  after: number
  endReason: EndReason | undefined
  #stuckSinceMs: number | undefined
  #sentAtMs = 0

  constructor(of: Of, after: number) {
    super({ highWaterMark: waitingMax })
    this.of = of
    this.after = after
  }

  get takes(): boolean {
    return this.endReason === undefined && !this.destroyed && this.#waiting < waitingMax
  }

  get #waiting(): number {
    return this.readableLength + this.of.outgoing.writableLength
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
