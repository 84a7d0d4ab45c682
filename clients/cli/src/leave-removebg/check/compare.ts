// Compares a response with an expectation: pure.
import { type Expected, photoSize } from './expectations.ts'
import { type Head, readHead } from './image-head.ts'

export type Response = {
  readonly status: number
  readonly headers: Headers
  readonly body: Buffer
}

/** Headers of each result. */
const resultHeaders = [
  ...['x-credits-charged', 'x-width', 'x-height', 'x-type'],
  ...['x-foreground-top', 'x-foreground-left', 'x-foreground-width', 'x-foreground-height'],
  ...['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
]

const mimeTypes = { png: 'image/png', jpeg: 'image/jpeg', webp: 'image/webp', zip: 'application/zip' } as const

/** Differences, in words; empty if there are none. */
export function compare(response: Response, expected: Expected): string[] {
  const { status, body } = response
  if (status !== expected.status) return [`status ${status}${shownCode(body)}`]
  if (status >= 400) return compareError(body, expected.code)
  const json = readJson(body)
  const problems = Object.entries(expected.members ?? {})
    .filter(([path, type]) => typeof memberAt(json, path) !== type)
    .map(([path, type]) => `${path} is no ${type}`)
  return expected.format === undefined ? problems : [...problems, ...compareResult(response, expected, json)]
}

function compareResult({ headers, body }: Response, expected: Expected, json: unknown): string[] {
  const image = expected.json ? Buffer.from(String(memberAt(json, 'data.result_b64')), 'base64') : body
  const head = readHead(image)
  if (head === undefined) return ['no image']
  return [
    ...compareHead(head, expected),
    ...compareHeaders(headers, expected),
    ...(expected.format === 'zip' ? [] : compareShownSize(headers, head)),
  ]
}

function compareHead(head: Head, { format, alpha, size, names }: Expected): string[] {
  const { width = 0, height = 0 } = head
  const shown = `${width}×${height}`
  const problems: string[] = []
  if (head.format !== format) problems.push(`format ${head.format}`)
  if (alpha !== undefined && head.alpha !== alpha) problems.push(alpha ? 'no alpha channel' : 'an alpha channel')
  if (names?.some((name) => !head.names?.includes(name))) problems.push(`files ${head.names}`)
  if (size === 'photo' && (width !== photoSize.width || height !== photoSize.height)) problems.push(`size ${shown}`)
  if (size === 'smaller' && !(width < photoSize.width && height <= photoSize.height)) problems.push(`size ${shown}`)
  if (typeof size === 'object') {
    // Rounding to whole pixels costs up to one row and one column.
    const isScaled = width * height <= size.maxPixels && (width + 2) * (height + 2) >= size.maxPixels
    if (!isScaled) problems.push(`size ${shown}`)
  }
  return problems
}

function compareHeaders(headers: Headers, { format, json, without }: Expected): string[] {
  const type = headers.get('content-type')?.split(';')[0]
  const wanted = json ? 'application/json' : mimeTypes[format ?? 'png']
  const missing = resultHeaders.filter((name) => name !== without && !headers.has(name)).map((name) => `no ${name}`)
  return [
    ...(type === wanted ? [] : [`content-type ${type}`]),
    ...missing,
    ...(without !== undefined && headers.has(without) ? [`${without} ${headers.get(without)}`] : []),
  ]
}

/** X-Width and X-Height are those of the result. */
function compareShownSize(headers: Headers, { width, height }: Head): string[] {
  const [shownWidth, shownHeight] = [headers.get('x-width'), headers.get('x-height')]
  const isSame = Number(shownWidth) === width && Number(shownHeight) === height
  return isSame ? [] : [`x-width and x-height ${shownWidth}×${shownHeight}, result ${width}×${height}`]
}

type Errors = { readonly errors?: readonly { readonly title?: unknown; readonly code?: unknown }[] }

function compareError(body: Buffer, code: string | undefined): string[] {
  const { errors } = (readJson(body) ?? {}) as Errors
  if (!Array.isArray(errors) || errors.length === 0) return ['no list of errors']
  if (errors.some(({ title }) => typeof title !== 'string' || title === '')) return ['an error without a title']
  return code === undefined || errors[0]?.code === code ? [] : [`code ${errors[0]?.code}`]
}

const shownCode = (body: Buffer): string => {
  const code = ((readJson(body) ?? {}) as Errors).errors?.[0]?.code
  return typeof code === 'string' ? ` ${code}` : ''
}

function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

const memberAt = (value: unknown, path: string): unknown =>
  path.split('.').reduce((inner, name) => (inner as Record<string, unknown> | null | undefined)?.[name], value)
