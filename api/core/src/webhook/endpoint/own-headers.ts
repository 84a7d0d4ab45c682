// Headers that the owner of an endpoint adds to each request, such as a token for a gateway in front of the receiver.
// Their values are secrets: sealed at rest, masked in responses and records, and never logged.
import type { Db } from '../../db/database.ts'
import { invalidParam } from '../../invalid-params.ts'
import { type MasterKeys, seal, unseal } from '../../runtime/seal.ts'
import { liveEndpoints } from './endpoint-queries.ts'

export const ownHeadersMax = 10
export const headerNameLengthMax = 64
export const headerValueLengthMax = 1_024
/** Shorter values are masked completely: four of their characters would be too many. */
const shownFromLength = 16

export type OwnHeaders = Readonly<Record<string, string>>
/** Null removes a header. */
export type HeaderChanges = Readonly<Record<string, string | null>>

/** Headers that the service or its HTTP client sets, and hop-by-hop ones (RFC 9110, 7.6.1). */
const reservedNames = new Set([
  ...['accept', 'connection', 'content-encoding', 'content-length', 'content-type', 'expect', 'forwarded', 'host'],
  ...['http2-settings', 'keep-alive', 'te', 'traceparent', 'tracestate', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['user-agent', 'x-real-ip', 'x-service-signature'],
])
const reservedPrefixes = ['webhook-', 'x-matte-', 'x-forwarded-', 'proxy-', 'sec-']

/** A token of RFC 9110. */
export const headerNamePattern = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
/** Visible ASCII with spaces inside, so a value can neither end the header nor look different to the receiver. */
export const headerValuePattern = '^[!-~]([ -~]*[!-~])?$'
export const headerNameWords = 'must have a header name of letters, digits and hyphens'
export const headerValueWords = 'must be visible ASCII characters, with spaces only between them'
const token = new RegExp(headerNamePattern)
const visible = new RegExp(headerValuePattern)

/** The reason why a header is refused; it never contains the value. */
export function findHeaderIssue(name: string, value: string | null): string | undefined {
  const lower = name.toLowerCase()
  if (name.length > headerNameLengthMax) return `must have a name of at most ${headerNameLengthMax} characters`
  if (!token.test(name)) return headerNameWords
  if (reservedNames.has(lower) || reservedPrefixes.some((prefix) => lower.startsWith(prefix))) {
    return 'is set by the service or the connection; choose another name'
  }
  if (value === null) return undefined
  if (value.length > headerValueLengthMax) return `must be at most ${headerValueLengthMax} characters`
  return visible.test(value) ? undefined : headerValueWords
}

/** Names are compared without case. */
export function mergeHeaders(current: OwnHeaders, changes: HeaderChanges): OwnHeaders {
  const merged = new Map(Object.entries(current).map((header) => [header[0].toLowerCase(), header]))
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) merged.delete(name.toLowerCase())
    else merged.set(name.toLowerCase(), [name, value])
  }
  return Object.fromEntries(merged.values())
}

export const maskText = '••••'
const maskValue = (value: string): string =>
  value.length < shownFromLength ? maskText : `${maskText}${value.slice(-4)}`

export const maskHeaders = (headers: OwnHeaders): OwnHeaders =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, maskValue(value)]))

/** Columns of `webhook_endpoint`. */
export type StoredHeaders = { readonly sealed: string | null; readonly masked: OwnHeaders | null }

const none: StoredHeaders = { sealed: null, masked: null }

/** @throws MatteError INVALID_PARAMS for more than ten headers */
export function storeHeaders(keys: MasterKeys, id: string, headers: OwnHeaders): StoredHeaders {
  const count = Object.keys(headers).length
  if (count > ownHeadersMax) throw invalidParam('/body/headers', `must be at most ${ownHeadersMax} headers`)
  if (count === 0) return none
  return { sealed: seal(keys, id, JSON.stringify(headers)), masked: maskHeaders(headers) }
}

/** @throws UnsealError */
export const openHeaders = (keys: MasterKeys, id: string, sealed: string | null): OwnHeaders =>
  sealed === null ? {} : (JSON.parse(unseal(keys, id, sealed)) as OwnHeaders)

type Change = {
  readonly workspaceId: string
  readonly id: string
  readonly keys: MasterKeys
  readonly changes: HeaderChanges
}

/** The endpoint's headers after the change. The caller holds the workspace's lock. */
export async function changeHeaders(tx: Db, { workspaceId, id, keys, changes }: Change): Promise<StoredHeaders> {
  const query = liveEndpoints(tx, workspaceId).select('headers_sealed').where('id', '=', id)
  const endpoint = await query.executeTakeFirst()
  const current = openHeaders(keys, id, endpoint?.headers_sealed ?? null)
  return storeHeaders(keys, id, mergeHeaders(current, changes))
}

type Move = Pick<Change, 'workspaceId' | 'id' | 'changes'> & { readonly href: string }

/**
 * A caller may change a target without knowing the values, so they do not follow it to another origin.
 * @throws MatteError INVALID_PARAMS naming the headers that are neither given again nor removed
 */
export async function keepHeadersFromOtherOrigin(tx: Db, { workspaceId, id, changes, href }: Move): Promise<void> {
  const query = liveEndpoints(tx, workspaceId).select(['target_href as from', 'headers_masked as headers'])
  const endpoint = await query.where('id', '=', id).executeTakeFirst()
  if (endpoint === undefined || new URL(endpoint.from).origin === new URL(href).origin) return
  const given = new Set(Object.keys(changes).map((name) => name.toLowerCase()))
  const kept = Object.keys(endpoint.headers ?? {}).filter((name) => !given.has(name.toLowerCase()))
  if (kept.length === 0) return
  const words = 'their values were given for another host; give each again, or null to remove it'
  throw invalidParam('/body/headers', `must have ${kept.join(', ')}: ${words}`)
}
