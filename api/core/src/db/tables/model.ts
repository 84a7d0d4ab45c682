import type { JSONColumnType } from 'kysely'

/** Reported properties; null if the model does not report one. */
export type ModelProperties = {
  readonly inputSize: number
  readonly views: 1 | 2
  readonly form: 'fp32' | 'fp16' | 'bf16' | 'int8' | null
  readonly licence: string | null
  readonly speed: 'fast' | 'medium' | 'slow' | null
}

/** Public model versions; the controller writes them, the API reads them through a 5 s cache. */
export type ModelTable = {
  name: string
  pool: string
  triton_model: string
  is_default: boolean
  available: boolean
  properties: JSONColumnType<ModelProperties | null> | null
}

/** Work of one revision's pods in five seconds, as seen by one controller replica. */
export type InferenceWindowTable = {
  pool: string
  revision: string
  /** Each replica writes its own rows, so replicas do not wait for each other. */
  replica: string
  at: Date
  /** Images by outcome of their time in a slot. */
  done: number
  failed: number
  timed_out: number
  /** The pod was unavailable; no attempt is used. */
  unavailable: number
  busy_seconds: number
  ended: number
  /** Seconds from creation to success per task; see `latency.ts`. */
  latency_buckets: number[]
}
