import type { JsonSchema } from './example.ts'

export type Reference = { readonly $ref: string; readonly description?: string }
export type Media = {
  schema: JsonSchema
  example?: unknown
  examples?: Record<string, unknown>
}
export type Response = {
  description: string
  headers?: Record<string, unknown>
  content?: Record<string, Media>
  links?: Record<string, unknown>
}
export type Parameter = {
  readonly in: string
  readonly name: string
  required?: boolean
  readonly schema: JsonSchema
  example?: unknown
}
type Security = readonly Readonly<Record<string, unknown>>[]
export type Operation = {
  operationId: string
  deprecated?: boolean
  security?: Security
  parameters?: (Parameter | Reference)[]
  requestBody?: { required: boolean; content: Record<string, Media> }
  responses: Record<string, Response | Reference>
  [idempotentMark]?: true
}

export type ApiDocument = {
  paths: Record<string, Record<string, Operation>>
  webhooks?: Record<string, unknown>
  components: Record<string, Record<string, unknown>> & { schemas: Record<string, JsonSchema> }
}

/** Marks operations that take `Idempotency-Key`; removed from the finished document. */
export const idempotentMark = 'x-idempotent'

export const isReference = (part: object): part is Reference => '$ref' in part
