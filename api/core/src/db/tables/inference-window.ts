/** What the pods of one revision of a pool did in five seconds, as one replica of the controller saw it. */
export type InferenceWindowTable = {
  pool: string
  revision: string
  /** Whose sums these are; each replica has rows of its own, so that none waits for another. */
  replica: string
  /** Start of the window. */
  at: Date
  /** Images by how their time in a slot ended. */
  done: number
  failed: number
  timed_out: number
  /** The pod was not there; such an image costs no attempt. */
  unavailable: number
  /** Time in slots of those that are `done`. */
  busy_seconds: number
  /** Tasks that succeeded; the sum of the buckets. */
  ended: number
  /** Of each, the seconds from its creation to its success: see `scale/latency.ts`. */
  latency_buckets: number[]
}
