// The headers of answers, and which answers have them. What is required of an answer is there whenever that answer is
// given; the others come under the condition that their description names.
type Header = { readonly description: string; readonly schema: object; readonly example: unknown }

const integer = (description: string, example: number): Header => ({
  description,
  schema: { type: 'integer', minimum: 0 },
  example,
})
const text = (description: string, example: string): Header => ({ description, schema: { type: 'string' }, example })

export const answerHeaders = {
  'X-Request-Id': text(
    'The id of this request; also `request_id` of the body.',
    '5b1cb8b2-6b4f-4a6e-9d0c-0d6f3c1f6a10',
  ),
  'X-RateLimit-Limit': integer('Requests that the workspace has per window of a minute.', 1_200),
  'X-RateLimit-Remaining': integer('Requests left in this window.', 1_187),
  'X-RateLimit-Reset': integer('End of the window, Unix time in seconds.', 1_795_253_460),
  'RateLimit-Policy': text('The limit as the IETF draft writes it.', '"default";q=1200;w=60'),
  RateLimit: text('What is left of it, in that form.', '"default";r=1187;t=24'),
  'Retry-After': {
    description: 'Seconds to wait before the next try.',
    schema: { type: 'integer', minimum: 1, maximum: 3_600 },
    example: 24,
  },
  'X-Ignored-Fields': text('Fields and query parameters that are not known here, percent-encoded.', 'colour'),
  'Preference-Applied': text('Which preferences of `Prefer` were followed.', 'handling=strict'),
  'Idempotent-Replayed': {
    description: 'The request was sent before; this is what it made, as it is now.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  'Cache-Control': text('Answers belong to one caller.', 'no-store'),
  Deprecation: text('Since when this path is deprecated.', '@1752710400'),
  Link: text(
    'The path that replaces it.',
    '<https://matte.example/api/v1/open/developer/tasks>; rel="successor-version"',
  ),
  Sunset: text('When it goes, if that is set.', 'Tue, 01 Jun 2027 00:00:00 GMT'),
} as const satisfies Readonly<Record<string, Header>>

export type HeaderName = keyof typeof answerHeaders

const rateLimit = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
] as const satisfies readonly HeaderName[]

export type AnswerKind = {
  readonly status: number
  readonly idempotent: boolean
  readonly deprecated: boolean
  /** By what the operation knows its caller. */
  readonly credential: 'key' | 'token' | 'none'
}

/** Names, and whether each is always there. */
export function headersOf({
  status,
  idempotent,
  deprecated,
  credential,
}: AnswerKind): ReadonlyMap<HeaderName, boolean> {
  const headers = new Map<HeaderName, boolean>([
    ['X-Request-Id', true],
    ['Cache-Control', true],
  ])
  const set = (required: boolean, ...names: readonly HeaderName[]) => {
    for (const name of names) headers.set(name, required)
  }
  // What is refused for its credential never reaches the limiter (D6); 403, 429 and 500 come from both sides of it.
  // Who is no member of a workspace is refused (404) before its requests are counted.
  const before = credential === 'token' ? [403, 404, 429, 500] : [403, 429, 500]
  if (status !== 401 && credential !== 'none') set(!before.includes(status), ...rateLimit)
  if (status === 429 || status === 503) set(true, 'Retry-After')
  if (status === 500 || (status === 409 && idempotent)) set(false, 'Retry-After')
  if (status !== 401 && status !== 429) set(false, 'X-Ignored-Fields', 'Preference-Applied')
  if (status < 300 && idempotent) set(false, 'Idempotent-Replayed')
  if (deprecated) {
    set(true, 'Deprecation', 'Link')
    set(false, 'Sunset')
  }
  return headers
}
