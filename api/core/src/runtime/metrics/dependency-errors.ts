// What we depend on and could not use: one counter for all of it, so that one alert asks "which, and why".
import type { Counter } from 'prom-client'
import { counter } from './define.ts'

const dependencies = ['database', 'nats', 'store', 'kubernetes', 'triton'] as const
const reasons = ['certificate', 'credentials', 'unreachable', 'timeout', 'other'] as const

type Dependency = (typeof dependencies)[number]
export type FailureReason = (typeof reasons)[number]

export const dependencyErrors = counter({
  name: 'matte_dependency_errors_total',
  help:
    'Connections and requests to a dependency that failed, and why: its certificate, our credentials, nobody there, ' +
    'no answer in time, or something else. An answer that refuses one request for what it asks is none.',
  labels: { dependency: dependencies, reason: reasons },
})

export type DependencyErrors = Pick<Counter<'dependency' | 'reason'>, 'inc'>

/** Counts for one dependency. */
export const countErrorsOf =
  (errors: DependencyErrors, dependency: Dependency) =>
  (reason: FailureReason): void =>
    errors.inc({ dependency, reason })

/** Codes of Node and OpenSSL for a certificate that is expired, not trusted, or another's. */
const certificateCode =
  /^(CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH|ERR_TLS_CERT)/
const timeoutCode = /^(ETIMEDOUT|UND_ERR_\w*TIMEOUT|ERR_SOCKET_CONNECTION_TIMEOUT)$/
const unreachableCode = /^(ECONN|EHOST|ENET|EPIPE|ENOTFOUND|EAI_|UND_ERR_SOCKET)/

/** By the code of the error or of what caused it: the innermost that says anything. */
export function classifyError(error: unknown): FailureReason {
  if (!(error instanceof Error)) return 'other'
  const inner = error.cause === undefined ? 'other' : classifyError(error.cause)
  if (inner !== 'other') return inner
  // Of several addresses that were dialled, the first.
  if (error instanceof AggregateError && error.errors.length > 0) return classifyError(error.errors[0])
  const code = 'code' in error ? String(error.code) : ''
  if (certificateCode.test(code)) return 'certificate'
  if (timeoutCode.test(code) || error.name === 'TimeoutError') return 'timeout'
  return unreachableCode.test(code) ? 'unreachable' : 'other'
}
