import type { JSONColumnType } from 'kysely'

/** What is told of a model; null where its entry does not say it. */
export type ModelProperties = {
  readonly inputSize: number
  readonly views: 1 | 2
  readonly form: 'fp32' | 'fp16' | 'bf16' | 'int8' | null
  readonly licence: string | null
  readonly speed: 'fast' | 'medium' | 'slow' | null
}

/** What may be asked for as `modelVersion`; written by the controller only, read by the API with a 5 s cache. */
export type ModelTable = {
  name: string
  pool: string
  triton_model: string
  is_default: boolean
  available: boolean
  /** As its pods last reported them; null: never. */
  properties: JSONColumnType<ModelProperties | null> | null
}
