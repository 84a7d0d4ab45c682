// The page of the console: one document for every address that the console has. The document carries the settings
// that the page needs before sign-in, so no request has to fetch them.
import { checkPayments } from '@matte/people/payment/settings'
import type { FastifyReply, FastifyRequest } from 'fastify'
import manifest from '../../../package.json' with { type: 'json' }
import type { Config } from '../config.ts'
import { isLoopback } from '../loopback.ts'
import { etagOf } from '../site/site-files.ts'
import type { CurrentBuild } from './console-build.ts'

export type ConsolePage = {
  /** Sends the page if the request asks for one. */
  readonly respond: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined
}

/** Addresses of the API, of the store and of files, which a browser may open too. */
const foreignPath = /^\/(api|v1|v1\.0|files|assets|docs|healthz|readyz)(\/|$)/

const policyOf = ({ publicUrl, s3PublicEndpoint }: Config): string => {
  const origins = [...new Set([publicUrl, s3PublicEndpoint])].join(' ')
  return [
    "default-src 'self'",
    "base-uri 'none'",
    `connect-src 'self' ${origins}`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    `img-src 'self' blob: data: ${origins}`,
    "media-src 'self' blob:",
    "object-src 'none'",
  ].join('; ')
}

const notBuilt = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Matte</title></head>
<body><h1>The console is not built</h1><p>Run <code>make console</code>, then reload this page.</p></body></html>
`

export function consolePage(config: Config, build: CurrentBuild): ConsolePage {
  const settings = settingsOf(config)
  const headers = {
    'content-security-policy': policyOf(config),
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(self), geolocation=(), microphone=()',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
    'cache-control': 'no-cache',
  }
  return {
    respond: (request, reply) => {
      if (!isForPage(request)) return undefined
      const elsewhere = otherLoopback(request, config.publicUrl)
      if (elsewhere !== undefined) return reply.redirect(elsewhere, 302)
      const { page } = build()
      const body = page === undefined ? notBuilt : withSettings(page, settings)
      const etag = etagOf(body)
      reply.headers({ ...headers, etag })
      if (request.headers['if-none-match'] === etag) return reply.code(304).send()
      return reply
        .code(page === undefined ? 503 : 200)
        .type('text/html; charset=utf-8')
        .send(body)
    },
  }
}

const isForPage = ({ method, url, headers }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  (headers.accept ?? '').includes('text/html') &&
  !foreignPath.test(url.split('?')[0] ?? '')

/** `localhost` and `127.0.0.1` are two origins, and links and cookies hold for the one in PUBLIC_URL. */
function otherLoopback({ headers, url }: FastifyRequest, publicUrl: string): string | undefined {
  const asked = URL.parse(`http://${headers.host}`)
  const known = new URL(publicUrl)
  if (asked === null || !isLoopback(asked.hostname) || !isLoopback(known.hostname)) return undefined
  return asked.hostname !== known.hostname && asked.port === known.port ? `${publicUrl}${url}` : undefined
}

/** As `src/settings.ts` of the console reads them. */
const settingsOf = (config: Config) => ({
  version: manifest.version,
  accounts: config.accountsEnabled,
  registration: registrationOf(config),
  passwordReset: hasMail(config),
  payments: checkPayments(config, config),
  fetchUrls: config.uploadsFetchUrls,
  publicUrl: config.publicUrl,
})

/** Without mail, registration is closed, as in auth-routes.ts. */
const registrationOf = (config: Config) => (hasMail(config) ? config.registration : 'closed')
const hasMail = ({ mailEnabled, environment }: Config): boolean => mailEnabled || environment !== 'production'

const withSettings = (page: string, settings: object): string =>
  page.replace('<meta name="matte-settings" content="">', () => {
    const content = JSON.stringify(settings).replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
    return `<meta name="matte-settings" content="${content}">`
  })
