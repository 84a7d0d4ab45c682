import { MatteError } from './error.ts'
import type { MatteOptions } from './options.ts'
import type { ProofRequired } from './proof.ts'
import { version } from './version.ts'

export type Config = {
  /** Headers that carry the credential. */
  readonly authorize: () => Readonly<Record<string, string>>
  /** Gets a new credential after a 401. False: there is none. */
  readonly renew?: (() => Promise<boolean>) | undefined
  /** Gets a proof of the person after a 403 that asks for one. False: there is none. */
  readonly prove?: ((required: ProofRequired) => Promise<boolean>) | undefined
  /** Path of an operation of the Developer API on the API that the client calls. */
  readonly toPath: (path: string) => string
  /** Without a slash at its end. */
  readonly baseUrl: string
  readonly fetch: typeof globalThis.fetch
  readonly hasOwnFetch: boolean
  readonly retriesMax: number
  readonly timeoutMs: number
  readonly userAgent: string | undefined
}

const retriesDefault = 5
const timeoutDefaultMs = 60_000

type Runtime = { readonly env?: Readonly<Record<string, string>>; readonly versions?: { readonly node?: string } }

/** Node, Deno and Bun have it; browsers and workers may not. */
const runtime = (): Runtime => (globalThis as { process?: Runtime }).process ?? {}

/** @throws MatteError CLIENT_CONFIG */
export function readConfig(options: MatteOptions): Config {
  const apiKey = options.apiKey ?? readEnv('MATTE_API_KEY')
  if (!apiKey) throw invalid('There is no API key. Pass `apiKey`, or set MATTE_API_KEY.')
  const key = apiKey.trim()
  if (!/^[\x21-\x7e]+$/.test(key)) throw invalid('The API key has characters that no key has.')
  return { ...readConnection(options), authorize: () => ({ 'x-api-key': key }), toPath: (path) => path }
}

/** Settings that do not depend on the credential. @throws MatteError CLIENT_CONFIG */
export function readConnection(options: Omit<MatteOptions, 'apiKey'>) {
  const { fetch: ownFetch, retriesMax = retriesDefault, timeoutMs = timeoutDefaultMs } = options
  if (!(Number.isInteger(retriesMax) && retriesMax >= 0)) throw invalid('`retriesMax` must be an integer from 0.')
  if (!(timeoutMs > 0)) throw invalid('`timeoutMs` must be more than 0.')
  return {
    baseUrl: readBaseUrl(options.baseUrl ?? readEnv('MATTE_BASE_URL')),
    // Called without the client as `this`, which browsers require.
    fetch: ownFetch ?? ((input, init) => globalThis.fetch(input, init)),
    hasOwnFetch: ownFetch !== undefined,
    retriesMax,
    timeoutMs,
    userAgent: readUserAgent(options.userAgent),
  }
}

const invalid = (message: string) => new MatteError('CLIENT_CONFIG', message)

function readEnv(name: string): string | undefined {
  try {
    return runtime().env?.[name]
  } catch {
    return undefined // Deno without permission to read it
  }
}

function readBaseUrl(text: string | undefined): string {
  const example = 'like https://matte.example.com/api/v1'
  if (!text) throw invalid(`There is no address of the service. Pass \`baseUrl\`, or set MATTE_BASE_URL, ${example}.`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw invalid(`The base URL must be an http or https URL without user, query and fragment, ${example}.`)
  }
  if (url.pathname === '/') throw invalid(`The base URL must end in the version path, ${example}.`)
  return url.href.replace(/\/+$/, '')
}

/** Undefined in browsers, which send their own; another one would need a preflight request. */
function readUserAgent(name: string | undefined): string | undefined {
  const node = runtime().versions?.node
  const own = `matte-client/${version}${node ? ` node/${node}` : ''}`
  if (name) return `${name} ${own}`
  return node ? own : undefined
}
