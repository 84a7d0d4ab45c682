// Response headers and the responses that have them. Required ones are always present; descriptions state the condition
// of the others. The introduction of the document describes general headers, which any response can have.
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
  'X-RateLimit-Limit': integer('Requests that the workspace may send per window of a minute.', 1_200),
  'X-RateLimit-Remaining': integer('Requests left in this window.', 1_187),
  'X-RateLimit-Reset': integer('End of the window, Unix time in seconds.', 1_795_253_460),
  'RateLimit-Policy': text('The limit as the IETF draft writes it.', '"default";q=1200;w=60'),
  RateLimit: text('The remaining requests in the format of the IETF draft.', '"default";r=1187;t=24'),
  'Retry-After': {
    description: 'Seconds to wait before a retry.',
    schema: { type: 'integer', minimum: 1, maximum: 3_600 },
    example: 24,
  },
  'X-Ignored-Fields': text('Unknown fields and query parameters, percent-encoded.', 'colour'),
  'Preference-Applied': text('Preferences of `Prefer` that were applied.', 'handling=strict'),
  'Idempotent-Replayed': {
    description: 'A replay: returns the resource of the first request as it is now.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  Location: text('The task.', '/api/v1/open/developer/tasks/0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'),
  'X-Task-Id': text('Its id.', '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'),
  'X-Foreground': text('`foreground` of the task, unless null.', 'top=12, left=40, width=300, height=200'),
  'X-Confidence': text('`confidence` of the task, if it has one.', '0.97'),
  'Cache-Control': text('Responses are private to one caller.', 'no-store'),
  Deprecation: text('Time of deprecation of this path.', '@1752710400'),
  Link: text(
    'The path that replaces it.',
    '<https://matte.example/api/v1/open/developer/tasks>; rel="successor-version"',
  ),
  Sunset: text('Removal date, if set.', 'Tue, 01 Jun 2027 00:00:00 GMT'),
} as const satisfies Readonly<Record<string, Header>>

export type HeaderName = keyof typeof answerHeaders

const rateLimit = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
] as const satisfies readonly HeaderName[]

const general = [
  ...rateLimit,
  'Cache-Control',
  'X-Ignored-Fields',
  'Preference-Applied',
] as const satisfies readonly HeaderName[]

const ofTask = ['Location', 'X-Task-Id'] as const satisfies readonly HeaderName[]

const ofPicture = ['X-Foreground', 'X-Confidence'] as const satisfies readonly HeaderName[]

const ofDeprecatedPaths = ['Deprecation', 'Link', 'Sunset'] as const satisfies readonly HeaderName[]

/**
 * Headers that the document lists at a response. General ones would be a fifth of the document; 429 needs the limits.
 * Errors list neither the deprecation of their path nor the task of a cut-out, so all paths share them. The description
 * of a cut-out names those of the picture.
 */
export function listedHeadersOf(kind: ResponseKind): ReadonlyMap<HeaderName, boolean> {
  const unlisted: readonly HeaderName[] = [
    ...(kind.status === 429 ? (['Cache-Control'] as const) : general),
    ...(kind.status >= 400 ? [...ofDeprecatedPaths, ...ofTask] : ofPicture),
  ]
  const isListed = (name: HeaderName) => !unlisted.includes(name)
  return new Map([...headersOf(kind)].filter(([name]) => isListed(name)))
}

const errorLink = {
  name: 'Link',
  ...text('On errors: the page that explains the code.', '</docs/errors/NOT_FOUND>; rel="help"'),
}

const deprecation = (['Deprecation', 'Sunset'] as const).map((name) => {
  const { description, ...header } = answerHeaders[name]
  return {
    name,
    description: `On deprecated paths: ${description.charAt(0).toLowerCase()}${description.slice(1)}`,
    ...header,
  }
})

/** Rows of the introduction's table. */
export const generalHeaders = () => [
  ...general.map((name) => ({ name, ...answerHeaders[name] })),
  errorLink,
  ...deprecation,
]

export type ResponseKind = {
  readonly status: number
  readonly idempotent: boolean
  readonly deprecated: boolean
  readonly credential: 'key' | 'token' | 'none'
  /** A cut-out in one call. */
  readonly isCutOut?: boolean
}

export function headersOf({
  status,
  idempotent,
  deprecated,
  credential,
  isCutOut = false,
}: ResponseKind): ReadonlyMap<HeaderName, boolean> {
  const headers = new Map<HeaderName, boolean>([
    ['X-Request-Id', true],
    ['Cache-Control', true],
  ])
  const set = (required: boolean, ...names: readonly HeaderName[]) => {
    for (const name of names) headers.set(name, required)
  }
  // 403, 404, 429 and 500 can occur before or after the rate limiter.
  const before = credential === 'token' ? [403, 404, 429, 500] : [403, 429, 500]
  if (status !== 401 && credential !== 'none') set(!before.includes(status), ...rateLimit)
  if (status === 429 || status === 503) set(true, 'Retry-After')
  if (status === 500 || (status === 409 && idempotent)) set(false, 'Retry-After')
  if (status !== 401 && status !== 429) set(false, 'X-Ignored-Fields', 'Preference-Applied')
  if (status >= 400) set(true, 'Link')
  if (status < 300 && idempotent) set(false, 'Idempotent-Replayed')
  if (isCutOut) {
    // The task may have ended with an error.
    set(status < 300, 'Location', 'X-Task-Id')
    if (status === 200) set(false, ...ofPicture)
  }
  if (deprecated) {
    set(true, 'Deprecation', 'Link')
    set(false, 'Sunset')
  }
  return headers
}
