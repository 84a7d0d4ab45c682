import { type ErrorCode, errorCodes } from '@matte/core/error'
import { type Static, type TObject, type TProperties, type TSchema, type TUnsafe, Type } from 'typebox'
import { httpStatus } from '../errors/http-status.ts'

/** Refers to a schema by `$id`; it must be registered with `addSchema`. */
export const refer = <S extends TSchema & { $id: string }>(schema: S) =>
  Type.Unsafe<Static<S>>({ $ref: `${schema.$id}#` })

export const nullable = <S extends TSchema & { type: string }>(schema: S) =>
  Type.Unsafe<Static<S> | null>({ ...schema, type: [schema.type, 'null'] })

/** An optional field with a default, which the validator fills in: handlers always read a value. */
// `Type.Unsafe` loses the type, and an optional schema would let handlers read undefined.
export const withDefault = <S extends TSchema>(schema: S, value: NonNullable<Static<S>>) =>
  Type.Optional(Type.Unsafe({ ...schema, default: value })) as unknown as TUnsafe<NonNullable<Static<S>>>

export const oneOf = <const T extends readonly string[]>(values: T, options: { description?: string } = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options })

export const nullableOneOf = <const T extends readonly string[]>(values: T, options: { description?: string } = {}) =>
  Type.Unsafe<T[number] | null>({ type: ['string', 'null'], enum: [...values, null], ...options })

export const named = <P extends TProperties>(
  $id: string,
  properties: P,
  example?: unknown,
  options: { description?: string; additionalProperties?: boolean } = {},
): TObject<P> & { $id: string } =>
  Object.assign(Type.Object(properties, { ...options, ...(example !== undefined && { examples: [example] }) }), { $id })

export const uuid = (description?: string) => Type.String({ format: 'uuid', ...(description && { description }) })
export const time = (description?: string) => Type.String({ format: 'date-time', ...(description && { description }) })
export const count = (description?: string) => Type.Integer({ minimum: 0, ...(description && { description }) })

export const success = <S extends TSchema>(description: string, data: S) =>
  Type.Object({ request_id: Type.String(), data }, { description })

export const errorSchema = named(
  'Error',
  {
    request_id: Type.String({ description: 'Also the header X-Request-Id.' }),
    error: Type.Object({
      code: oneOf(errorCodes),
      message: Type.String({ description: 'For people; the words may change.' }),
      details: Type.Object(
        {},
        { additionalProperties: true, description: '`{}` when there is nothing to add. INVALID_PARAMS has `issues`.' },
      ),
    }),
  },
  {
    request_id: '5b1cb8b2-6b4f-4a6e-9d0c-0d6f3c1f6a10',
    error: {
      code: 'INVALID_PARAMS',
      message: 'The request has invalid parameters; see details.issues.',
      details: { issues: [{ path: '/body/imageUrl', message: 'is required' }] },
    },
  },
  { description: 'Every error response.' },
)

/** Codes by authentication, in the order of the checks (D4). */
const ofKeys: readonly ErrorCode[] = [
  'API_KEY_MISSING',
  'API_KEY_INVALID',
  'DEVELOPER_API_ACCESS_DENIED',
  'API_KEY_INSUFFICIENT_SCOPE',
  'RATE_LIMIT_EXCEEDED',
  'INVALID_PARAMS',
  'SYSTEM_INTERNAL_ERROR',
]

const ofEverybody: readonly ErrorCode[] = ['RATE_LIMIT_EXCEEDED', 'INVALID_PARAMS', 'SYSTEM_INTERNAL_ERROR']
const ofSelf: readonly ErrorCode[] = ['AUTH_INVALID_TOKEN', ...ofEverybody]
/** NOT_FOUND: not a member. http/document/declared-errors.ts adds AUTH_FORBIDDEN when a role is required. */
const ofMembers: readonly ErrorCode[] = ['NOT_FOUND', ...ofSelf]

const responsesWith =
  (always: readonly ErrorCode[]) =>
  <S extends TSchema>(status: 200 | 201, data: S, codes: readonly ErrorCode[]) => ({
    [status]: data,
    ...errorAnswers([...always, ...codes]),
  })

/** Responses by status; the description of an error response lists its codes. */
export const responses = responsesWith(ofKeys)
/** For members with certain roles. */
export const memberResponses = responsesWith(ofMembers)
/** For any signed-in user (`self`). */
export const selfResponses = responsesWith(ofSelf)
/** Without a credential (`open`, `provider`). */
export const openResponses = responsesWith(ofEverybody)

/** In the order of the interface. */
export function errorAnswers(codes: readonly ErrorCode[]) {
  const byStatus = Map.groupBy(
    errorCodes.filter((code) => codes.includes(code)),
    (code) => httpStatus[code],
  )
  return Object.fromEntries(
    [...byStatus].map(([number, names]) => [number, { description: names.join(', '), ...refer(errorSchema) }]),
  )
}

export const codesOf = ({ description }: { readonly description: string }): ErrorCode[] =>
  description.split(', ').map((text) => {
    const code = errorCodes.find((each) => each === text)
    if (code === undefined) throw new Error(`an error response lists ${text}, which is not an error code`)
    return code
  })
