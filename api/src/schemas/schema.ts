import { type ErrorCode, errorCodes } from '@matte/core/error'
import { type Static, type TObject, type TProperties, type TSchema, type TUnsafe, Type } from 'typebox'
import { httpStatus } from '../errors/http-status.ts'

/** A schema by its `$id`, as the document and the serializer refer to it; it must be added with `addSchema`. */
export const refer = <S extends TSchema & { $id: string }>(schema: S) =>
  Type.Unsafe<Static<S>>({ $ref: `${schema.$id}#` })

/** The schema or null, as JSON Schema 2020-12 and OpenAPI 3.1 write it. */
export const nullable = <S extends TSchema & { type: string }>(schema: S) =>
  Type.Unsafe<Static<S> | null>({ ...schema, type: [schema.type, 'null'] })

/**
 * An optional field with a default. The validator fills it in (http/fill-defaults.ts), so a handler always reads a
 * value, and the value that the document states is the one that applies.
 */
// `Type.Unsafe` loses the type, and an optional schema would let handlers read undefined.
export const withDefault = <S extends TSchema>(schema: S, value: NonNullable<Static<S>>) =>
  Type.Optional(Type.Unsafe({ ...schema, default: value })) as unknown as TUnsafe<NonNullable<Static<S>>>

/** One of a closed list of texts. */
export const oneOf = <const T extends readonly string[]>(values: T, options: { description?: string } = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options })

/** An object with a name of its own in the document. */
export const named = <P extends TProperties>(
  $id: string,
  properties: P,
  options: { description?: string; examples?: unknown[]; additionalProperties?: boolean } = {},
): TObject<P> & { $id: string } => Object.assign(Type.Object(properties, options), { $id })

/** A success in its envelope (D1). */
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
    description: 'Every refusal and every failure.',
    examples: [
      {
        request_id: '5b1cb8b2-6b4f-4a6e-9d0c-0d6f3c1f6a10',
        error: {
          code: 'INVALID_PARAMS',
          message: 'The request has invalid parameters; see details.issues.',
          details: { issues: [{ path: '/body/imageUrl', message: 'is required' }] },
        },
      },
    ],
  },
)

/** Codes that every operation can answer by what it asks of its caller, in the order of their checks (D4). */
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
/** NOT_FOUND: no member, or no longer. http/document/declared-errors.ts adds AUTH_FORBIDDEN if a role is needed. */
const ofMembers: readonly ErrorCode[] = ['NOT_FOUND', ...ofSelf]

/** The responses of a route by status: its success and, named in the descriptions, every code it can answer. */
export const responses = <S extends TSchema>(status: 200 | 201, data: S, codes: readonly ErrorCode[]) =>
  respond(ofKeys, { status, data, codes })

/** The same of an App operation for members in certain roles. */
export const memberResponses = <S extends TSchema>(status: 200 | 201, data: S, codes: readonly ErrorCode[]) =>
  respond(ofMembers, { status, data, codes })

/** The same of one for whoever is signed in (`self`). */
export const selfResponses = <S extends TSchema>(status: 200 | 201, data: S, codes: readonly ErrorCode[]) =>
  respond(ofSelf, { status, data, codes })

/** The same of one that needs no credential (`open`, `provider`). */
export const openResponses = <S extends TSchema>(status: 200 | 201, data: S, codes: readonly ErrorCode[]) =>
  respond(ofEverybody, { status, data, codes })

type Answers<S> = { readonly status: 200 | 201; readonly data: S; readonly codes: readonly ErrorCode[] }

const respond = <S extends TSchema>(always: readonly ErrorCode[], { status, data, codes }: Answers<S>) => ({
  [status]: data,
  ...errorAnswers([...always, ...codes]),
})

/** Error responses by status; the description of each is the list of its codes, in the order of the interface. */
export function errorAnswers(codes: readonly ErrorCode[]) {
  const byStatus = Map.groupBy(
    errorCodes.filter((code) => codes.includes(code)),
    (code) => httpStatus[code],
  )
  return Object.fromEntries(
    [...byStatus].map(([number, names]) => [number, { description: names.join(', '), ...refer(errorSchema) }]),
  )
}

/** Codes of an error response. @throws Error when its description names something that is no code */
export const codesOf = ({ description }: { readonly description: string }): ErrorCode[] =>
  description.split(', ').map((text) => {
    const code = errorCodes.find((each) => each === text)
    if (code === undefined) throw new Error(`an error answer names ${text}, which is no code`)
    return code
  })
