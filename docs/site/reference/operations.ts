// Operations of the OpenAPI document as the pages need them: references resolved, error codes collected.
import { slugOf, urlOf } from '../page.ts'

export type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly allOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly deprecated?: boolean
}
type Media = {
  readonly schema?: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, unknown>>
}
export type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
  readonly example?: unknown
}
export type Response = { readonly description: string; readonly content?: Readonly<Record<string, Media>> }
export type Operation = {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly deprecated?: boolean
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, Response>>
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly 'x-required-scope'?: string
  readonly 'x-required-roles'?: readonly string[]
}
export type ApiDocument = {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

export type ListedOperation = Operation & {
  readonly method: string
  readonly path: string
  readonly tag: string
  readonly url: string
  readonly codes: readonly string[]
}

export const pathOfTag = (tag: string): string => `api/${slugOf(tag)}`

export const listOperations = (document: ApiDocument): ListedOperation[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const tag = operation.tags[0] ?? 'Other'
      const url = `${urlOf(pathOfTag(tag))}#${operation.operationId}`
      return {
        ...operation,
        method: method.toUpperCase(),
        path,
        tag,
        url,
        codes: Object.values(operation.responses).flatMap(codesOf),
      }
    }),
  )

/** Error codes of a response: the names of its examples. */
export const codesOf = ({ content = {} }: Response): string[] =>
  Object.keys(content['application/json']?.examples ?? {}).filter((name) => /^[A-Z_]+$/.test(name))
