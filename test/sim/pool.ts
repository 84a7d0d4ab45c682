// Simulated pool: a FIFO queue, and pods that serve one request at a time. Scalers see whole seconds; requests begin
// and end at exact times. Sums per second make every value that a scaler reads exact.
import type { Trace } from './trace.ts'

type Pod = { readonly createdAt: number; readonly readyAt: number; freeAt: number }

/** State that a scaler sees at the whole second `now`. */
export type PoolView = {
  readonly now: number
  /** Desired pods, and the ready ones among them. */
  readonly desired: number
  readonly ready: number
  /** Requests that wait, and requests in a slot. */
  readonly waiting: number
  readonly busy: number
  /** Requests that arrived in the last `seconds`. */
  readonly arrived: (seconds: number) => number
  /** Mean number of requests waiting or in a slot, and in a slot only, between two whole seconds of the past. */
  readonly meanInPool: (from: number, to: number) => number
  readonly meanBusy: (from: number, to: number) => number
  /** Mean time in a slot of the requests that ended in the last `seconds`; undefined when none did. */
  readonly meanService: (seconds: number) => number | undefined
}

export type Outcome = { readonly requests: number; readonly missed: number; readonly podSeconds: number }

export type PoolOptions = {
  readonly trace: Trace
  readonly startSeconds: number
  readonly pods: number
  /** Time of each request outside queue and slot: upload, decoding, result. */
  readonly overheadSeconds?: number
}

/** Limit after which a request counts as missed. */
export const lateSeconds = 2

export class Pool {
  readonly #trace: Trace
  readonly #startSeconds: number
  readonly #overheadSeconds: number
  readonly #pods: Pod[]
  readonly #arrivals: Sums
  readonly #starts: Sums
  readonly #ends: Sums
  readonly #services: Sums
  #now = 0
  #next = 0
  #missed = 0
  #podSeconds = 0

  /** Starts with this many ready pods, equal for every scaler. */
  constructor({ trace, startSeconds, pods, overheadSeconds = 0 }: PoolOptions) {
    this.#trace = trace
    this.#overheadSeconds = overheadSeconds
    this.#startSeconds = startSeconds
    this.#pods = Array.from({ length: pods }, () => ({ createdAt: 0, readyAt: 0, freeAt: 0 }))
    this.#arrivals = new Sums(trace.seconds)
    this.#starts = new Sums(trace.seconds)
    this.#ends = new Sums(trace.seconds)
    this.#services = new Sums(trace.seconds)
    for (const at of trace.arrivals) this.#arrivals.add(at, at)
  }

  /** Valid until the next `advance`. */
  view(): PoolView {
    const now = this.#now
    const started = this.#starts.countUntil(now)
    const since = (seconds: number) => Math.max(0, now - seconds)
    return {
      now,
      desired: this.#pods.length,
      ready: this.#pods.reduce((count, pod) => count + (pod.readyAt <= now ? 1 : 0), 0),
      waiting: this.#arrivals.countUntil(now) - started,
      busy: started - this.#ends.countUntil(now),
      arrived: (seconds) => this.#arrivals.countUntil(now) - this.#arrivals.countUntil(since(seconds)),
      meanInPool: (from, to) => meanBetween(this.#arrivals, this.#ends, from, to),
      meanBusy: (from, to) => meanBetween(this.#starts, this.#ends, from, to),
      meanService: (seconds) => {
        const count = this.#services.countUntil(now) - this.#services.countUntil(since(seconds))
        return count > 0 ? (this.#services.sumUntil(now) - this.#services.sumUntil(since(seconds))) / count : undefined
      },
    }
  }

  /** Sets the desired pods. Like Kubernetes, removes pods that start first, then idle, then busy ones. */
  scaleTo(replicas: number): void {
    while (this.#pods.length < replicas) {
      this.#pods.push({ createdAt: this.#now, readyAt: this.#now + this.#startSeconds, freeAt: 0 })
    }
    if (this.#pods.length === replicas) return
    const whenFree = (pod: Pod) => (pod.readyAt > this.#now ? -pod.readyAt : Math.max(this.#now, pod.freeAt))
    this.#pods.sort((a, b) => whenFree(b) - whenFree(a) || a.createdAt - b.createdAt)
    // A busy pod finishes its request and is paid for until then.
    for (const pod of this.#pods.splice(replicas)) {
      this.#podSeconds += Math.max(this.#now, pod.freeAt) - pod.createdAt
    }
  }

  /** Advances by one second. */
  advance(): void {
    this.#now += 1
    this.#serveUntil(this.#now)
  }

  /** Serves the rest with the existing pods; their time after the end is not counted. */
  finish(): Outcome {
    for (const pod of this.#pods) this.#podSeconds += this.#now - pod.createdAt
    this.#serveUntil(Number.POSITIVE_INFINITY)
    return { requests: this.#trace.arrivals.length, missed: this.#missed, podSeconds: this.#podSeconds }
  }

  /** Assigns each request that begins before `end` to the pod that is free first. */
  #serveUntil(end: number): void {
    const { arrivals, services } = this.#trace
    for (; this.#next < arrivals.length; this.#next += 1) {
      const arrival = arrivals[this.#next] ?? 0
      if (arrival >= end) return
      const pod = this.#firstFree()
      if (!pod) return
      const start = Math.max(arrival, pod.freeAt, pod.readyAt)
      if (start >= end) return
      const service = services[this.#next] ?? 0
      pod.freeAt = start + service
      if (pod.freeAt - arrival + this.#overheadSeconds > lateSeconds) this.#missed += 1
      this.#starts.add(start, start)
      this.#ends.add(pod.freeAt, pod.freeAt)
      this.#services.add(pod.freeAt, service)
    }
  }

  #firstFree(): Pod | undefined {
    let first: Pod | undefined
    let firstAt = Number.POSITIVE_INFINITY
    for (const pod of this.#pods) {
      const freeAt = Math.max(pod.freeAt, pod.readyAt)
      if (freeAt < firstAt) {
        first = pod
        firstAt = freeAt
      }
    }
    return first
  }
}

/** Counts and sums of events in each second, and their running totals up to a whole second. */
class Sums {
  readonly #counts: Float64Array
  readonly #sums: Float64Array
  readonly #countsUntil: Float64Array
  readonly #sumsUntil: Float64Array
  #total = 0

  constructor(seconds: number) {
    this.#counts = new Float64Array(seconds + 1)
    this.#sums = new Float64Array(seconds + 1)
    this.#countsUntil = new Float64Array(seconds + 1)
    this.#sumsUntil = new Float64Array(seconds + 1)
  }

  /** Events may come out of order, but none before a second whose total was read. */
  add(at: number, value: number): void {
    const second = Math.floor(at)
    if (second >= this.#counts.length) return // nothing reads beyond the end of the trace
    this.#counts[second] = (this.#counts[second] ?? 0) + 1
    this.#sums[second] = (this.#sums[second] ?? 0) + value
  }

  countUntil(second: number): number {
    this.#totalUntil(second)
    return this.#countsUntil[second] ?? 0
  }

  sumUntil(second: number): number {
    this.#totalUntil(second)
    return this.#sumsUntil[second] ?? 0
  }

  #totalUntil(second: number): void {
    for (; this.#total < second; this.#total += 1) {
      const before = this.#total
      this.#countsUntil[before + 1] = (this.#countsUntil[before] ?? 0) + (this.#counts[before] ?? 0)
      this.#sumsUntil[before + 1] = (this.#sumsUntil[before] ?? 0) + (this.#sums[before] ?? 0)
    }
  }
}

/** Mean number of requests present: the integral of arrivals minus departures. */
function meanBetween(come: Sums, gone: Sums, from: number, to: number): number {
  if (to <= from) return 0
  const integral = (at: number) =>
    come.countUntil(at) * at - come.sumUntil(at) - (gone.countUntil(at) * at - gone.sumUntil(at))
  return (integral(to) - integral(from)) / (to - from)
}
