// Builders of the TritonPool's schema. A field with a default is never absent for readers: the API server or
// `withDefaults` fills it in. crd.ts makes it optional for users.
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { Default } from 'typebox/value'

/** A CEL rule. `rule` reads the value as `self`; `message` says what to do. */
type Rule = {
  readonly rule: string
  readonly message: string
  readonly fieldPath?: string
}

type Ruled = { readonly rules?: readonly Rule[] }

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

export const time = (description: string) => Type.String({ format: 'date-time', description })

/** Closed list for fields that users write: other values are rejected. */
export const choice = <const T extends readonly string[]>(description: string, values: T, defaultValue: T[number]) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], description, default: defaultValue })

/** For fields that the operator writes: an older definition must accept a newer operator's status. */
export const word = <T extends string>(description: string) => Type.Unsafe<T>({ type: 'string', description })

type ObjectOptions = Ruled & { readonly default?: object }

/** Expands `default: {}`, because the API server checks CEL rules of a parent before filling in its fields. */
export function object<P extends TProperties>(description: string, properties: P, options: ObjectOptions = {}) {
  const schema: TObject<P> = Type.Object(properties, keywords(description, options))
  if (options.default === undefined) return schema
  return Object.assign(schema, { default: Default(schema, { ...options.default }) })
}

type ListOptions = Ruled & {
  readonly maxItems: number
  readonly minItems?: number
  readonly default?: readonly unknown[]
  /** Fields that identify an item: server-side apply merges by them, and duplicates are rejected. */
  readonly keys?: readonly string[]
}

export const list = <S extends TSchema>(description: string, items: S, { keys, ...options }: ListOptions) =>
  Type.Array(items, {
    ...keywords(description, options),
    'x-kubernetes-list-type': keys ? 'map' : 'atomic',
    ...(keys && { 'x-kubernetes-list-map-keys': keys }),
  })

type MapOptions = { readonly maxProperties: number; readonly default?: object }

export const map = <S extends TSchema>(description: string, values: S, options: MapOptions) =>
  Type.Unsafe<Record<string, Static<S>>>({ type: 'object', additionalProperties: values, description, ...options })

/** A Kubernetes quantity, such as `500m`, `2Gi` or 1, with the pattern of Kubernetes' own definitions. */
export const quantity = () =>
  Type.Unsafe<string | number>({
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    pattern:
      '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
    maxLength: 32,
    'x-kubernetes-int-or-string': true,
  })

export const kubernetes = <T extends object>(description: string) =>
  Type.Unsafe<T>({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true, description })
