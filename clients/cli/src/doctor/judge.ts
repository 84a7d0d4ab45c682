// Conclusions of doctor from its measurements: pure functions.
import { type ExitCode, exitCodes } from '../exit-codes.ts'

export type Finding = {
  readonly check: string
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped'
  readonly text: string
  /** Remedy; on warnings and failures. */
  readonly advice?: string | undefined
  readonly requestId?: string | undefined
  readonly exitCode?: ExitCode
}

type Details = Pick<Finding, 'requestId' | 'exitCode'>

export const ok = (check: string, text: string): Finding => ({ check, status: 'ok', text })
export const skipped = (check: string, text: string): Finding => ({ check, status: 'skipped', text })
export const warning = (check: string, text: string, advice: string): Finding => ({
  check,
  status: 'warning',
  text,
  advice,
})
export const failed = (check: string, text: string, advice: string | undefined, details: Details = {}): Finding => ({
  check,
  status: 'failed',
  text,
  advice,
  exitCode: exitCodes.someFailed,
  ...details,
})

/** Webhook receivers accept signatures of five minutes, and stores refuse upload URLs of fifteen. */
const skewWarningMs = 60_000
const skewMaxMs = 300_000

export type Exchange = { readonly date: string | null; readonly sentMs: number; readonly receivedMs: number }

/** The header `Date` has whole seconds, so half a second is added; the answer was made between the two times. */
export function clockSkewMs({ date, sentMs, receivedMs }: Exchange): number | undefined {
  const serverMs = Date.parse(date ?? '') + 500
  if (Number.isNaN(serverMs)) return undefined
  const middleMs = (sentMs + receivedMs) / 2
  const uncertaintyMs = 500 + (receivedMs - sentMs) / 2
  const skewMs = middleMs - serverMs
  return Math.abs(skewMs) <= uncertaintyMs ? 0 : Math.round(skewMs)
}

export function judgeClock(skewMs: number | undefined): Finding {
  if (skewMs === undefined) return skipped('clock', 'the answer has no Date header')
  if (skewMs === 0) return ok('clock', 'agrees with the service')
  const seconds = Math.round(Math.abs(skewMs) / 1_000)
  if (Math.abs(skewMs) < skewWarningMs) return ok('clock', `${seconds} s from the clock of the service`)
  const text = `${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the clock of the service`
  const advice = 'Synchronize the clock of this machine (timedatectl), or check that of the service.'
  if (Math.abs(skewMs) < skewMaxMs) return warning('clock', text, advice)
  return failed('clock', text, `${advice} Signatures of webhooks are refused beyond five minutes.`)
}

const needed = ['uploads:write', 'tasks:write', 'tasks:read'] as const

export function judgeScopes(scopes: readonly string[]): Finding {
  const lacking = needed.filter((scope) => !scopes.includes(scope))
  if (lacking.length === 0) return ok('scopes', scopes.join(' '))
  return failed(
    'scopes',
    `matte cut needs ${lacking.join(' and ')}, which the key lacks`,
    'Make a key with these scopes in the developer settings of your workspace, then run: matte login',
    { exitCode: exitCodes.credential },
  )
}

export type Quota = { readonly limit: number | null; readonly remaining: number | null; readonly resetsAt: string }

export function judgeLimits({ limit, remaining, resetsAt }: Quota, requestsPerMinute: string | null): Finding {
  const rate = requestsPerMinute === null ? '' : `, ${requestsPerMinute} requests a minute`
  if (limit === null || remaining === null) return ok('limits', `no monthly quota${rate}`)
  const text = `${remaining} of ${limit} images left until ${resetsAt.slice(0, 10)}${rate}`
  if (remaining <= 0) {
    return failed('limits', text, 'Change the plan, or wait until then.', { exitCode: exitCodes.refused })
  }
  if (remaining < limit / 10) return warning('limits', text, 'Less than a tenth of the quota is left.')
  return ok('limits', text)
}

export function judgeCertificate(daysLeft: number, protocol: string): Finding {
  const text = `${protocol}, certificate valid for ${daysLeft} more days`
  if (daysLeft >= 14) return ok('tls', text)
  return warning('tls', text, 'Tell the operator of the service to renew the certificate.')
}

/** Cause and remedy of a request without an answer, by the code of Node. */
export function explainConnection(code: string | undefined, { host, hostname }: URL): readonly [string, string] {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return [`the name ${hostname} has no address`, 'Check the base URL, and the DNS of this machine.']
  }
  if (code === 'ECONNREFUSED') {
    return [`nothing listens on ${host}`, 'Check host and port of the base URL, and that the service is running.']
  }
  if (code === 'ECONNRESET' || code === 'UND_ERR_SOCKET') {
    return [`${host} closes the connection`, 'Check the proxy or load balancer, and http or https in the base URL.']
  }
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
    return [`${host} does not speak TLS`, 'Check the port, or use http:// in the base URL.']
  }
  if (code !== undefined && /CERT|SIGNED|ISSUER|ALTNAME|SSL|TLS/.test(code)) {
    return [
      `the certificate of ${host} is not trusted (${code})`,
      'For a certificate authority of your own, set NODE_EXTRA_CA_CERTS to its file.',
    ]
  }
  return [
    `no connection to ${host}${code === undefined ? '' : ` (${code})`}`,
    'Check network, firewall and proxy; behind a proxy set HTTPS_PROXY and NODE_USE_ENV_PROXY=1.',
  ]
}

/** Code of the first failure. */
export const exitCodeOfFindings = (findings: readonly Finding[]): ExitCode =>
  findings.find(({ status }) => status === 'failed')?.exitCode ?? exitCodes.ok

const marks = { ok: '✓', warning: '!', failed: '✗', skipped: '–' } as const

export function renderFinding({ check, status, text, advice, requestId }: Finding): string {
  const lines = [`${marks[status]} ${check.padEnd(8)} ${text}`]
  if (advice !== undefined) lines.push(`           ${advice}`)
  if (requestId !== undefined) lines.push(`           request ${requestId}`)
  return lines.join('\n')
}
