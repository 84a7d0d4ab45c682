// Builders of the TritonPool's schema. A field with a default is not optional: every reader of a pool finds it filled
// in, by the API server or by `withDefaults`. Only crd.ts knows that a user may omit it.
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { Default } from 'typebox/value'

/** One CEL rule. `rule` sees the value as `self`; `message` says what to do. */
type Rule = {
  readonly rule: string
  readonly message: string
  /** Path of the wrong field, relative to `self`, such as `.minReplicas`. */
  readonly fieldPath?: string
}

type Ruled = { readonly rules?: readonly Rule[] }

/** Kubernetes keeps CEL rules beside the JSON Schema keywords. */
const keywords = (description: string, { rules, ...rest }: Ruled = {}) => ({
  description,
  ...rest,
  ...(rules && { 'x-kubernetes-validations': rules }),
})

type Range = { readonly minimum: number; readonly maximum: number; readonly default?: number }

export const integer = (description: string, range: Range) => Type.Integer({ description, ...range })
export const number = (description: string, range: Range) => Type.Number({ description, ...range })
export const flag = (description: string, defaultValue: boolean) => Type.Boolean({ description, default: defaultValue })

type TextOptions = Ruled & {
  readonly maxLength: number
  readonly minLength?: number
  readonly pattern?: string
  readonly default?: string
}

export const text = (description: string, options: TextOptions) => Type.String(keywords(description, options))

/** A time as Kubernetes writes it, such as `2026-11-21T07:16:00Z`. */
export const time = (description: string) => Type.String({ format: 'date-time', description })

/** One of a closed list, for what users write: anything else is refused. */
export const choice = <const T extends readonly string[]>(description: string, values: T, defaultValue: T[number]) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], description, default: defaultValue })

/**
 * One of a closed list for TypeScript and any text for the API server, for what the operator writes. Otherwise the
 * whole status of a controller that is newer than the installed definition would be refused for one new word.
 */
export const word = <T extends string>(description: string) => Type.Unsafe<T>({ type: 'string', description })

type ObjectOptions = Ruled & { readonly default?: object }

/**
 * `default: {}` fills in the fields of a parent that the user omits. It is expanded here to the defaults of those
 * fields, since the API server checks a parent's default by the CEL rules before it would fill in its fields.
 */
export function object<P extends TProperties>(description: string, properties: P, options: ObjectOptions = {}) {
  const schema: TObject<P> = Type.Object(properties, keywords(description, options))
  if (options.default === undefined) return schema
  return Object.assign(schema, { default: Default(schema, { ...options.default }) })
}

type ListOptions = Ruled & {
  readonly maxItems: number
  readonly minItems?: number
  readonly default?: readonly unknown[]
  /** The fields that identify an item: server-side apply merges by them, and duplicates are refused. */
  readonly keys?: readonly string[]
}

export const list = <S extends TSchema>(description: string, items: S, { keys, ...options }: ListOptions) =>
  Type.Array(items, {
    ...keywords(description, options),
    'x-kubernetes-list-type': keys ? 'map' : 'atomic',
    ...(keys && { 'x-kubernetes-list-map-keys': keys }),
  })

type MapOptions = { readonly maxProperties: number; readonly default?: object }

/** An object whose keys are the user's. */
export const map = <S extends TSchema>(description: string, values: S, options: MapOptions) =>
  Type.Unsafe<Record<string, Static<S>>>({ type: 'object', additionalProperties: values, description, ...options })

/** A Kubernetes quantity, such as `500m`, `2Gi` or 1. The pattern is that of Kubernetes' own definitions. */
export const quantity = () =>
  Type.Unsafe<string | number>({
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    pattern:
      '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
    maxLength: 32,
    'x-kubernetes-int-or-string': true,
  })

/** A part of Kubernetes' own API, which the API server checks when the pods are created. */
export const kubernetes = <T extends object>(description: string) =>
  Type.Unsafe<T>({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true, description })
