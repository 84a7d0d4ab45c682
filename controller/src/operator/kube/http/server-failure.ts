// Whether a request says that the API server cannot be used, and why: its answers to what we asked for do not.
import { type ConnectionErrorReason, connectionErrorReason } from '@matte/core/runtime/metrics/connection-error'
import { KubeError } from './kube-error.ts'
import { requestOf, type Verb } from './verbs.ts'

/** An admission policy and a quota refuse a write with 403 as well; a read is refused for our rights alone. */
export function failureOfStatus(verb: Verb, status: number): ConnectionErrorReason | undefined {
  if (status === 401 || (status === 403 && requestOf[verb].method === 'GET')) return 'credentials'
  return status >= 500 ? 'other' : undefined
}

/** Undefined: whoever asked gave it up. */
export function failureOfError(error: unknown): ConnectionErrorReason | undefined {
  const reason = error instanceof KubeError ? error.reason : undefined
  if (reason === 'Aborted') return undefined
  return reason === 'Timeout' ? 'timeout' : connectionErrorReason(error)
}
