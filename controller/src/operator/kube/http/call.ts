// Named, counted API calls. Returns the response as JSON or throws it as KubeError.
import { type ConnectionErrorReason, connectionErrorReason } from '@matte/core/runtime/metrics/connection-error'
import type { Logger } from 'pino'
import type { ClusterMetrics } from '../kube-metrics.ts'
import type { Status } from '../objects.ts'
import { KubeError, localError, refusal } from './kube-error.ts'
import {
  type createTransport,
  type KubeAnswer,
  type KubeRequest,
  type OpenAnswer,
  requestOf,
  type Verb,
} from './transport.ts'

export type Call = Omit<KubeRequest, 'method' | 'contentType'> & {
  readonly verb: Verb
  readonly resource: string
  readonly name?: string | undefined
}

/** Maximum different server warnings (deprecations, unknown fields) that are logged, once each. */
const warningsMax = 100

export function createCaller(transport: ReturnType<typeof createTransport>, metrics: ClusterMetrics, logger: Logger) {
  const logged = new Set<string>()

  function warn(warning: string | undefined): void {
    if (warning === undefined || logged.has(warning) || logged.size >= warningsMax) return
    logged.add(warning)
    logger.warn({ warning }, 'warning of the API server')
  }

  function countFailure(reason: ConnectionErrorReason | undefined): void {
    if (reason !== undefined) metrics.serverFailed(reason)
  }

  async function counted<A extends Head>({ verb, resource }: Call, pending: Promise<A>): Promise<A> {
    try {
      const answer = await pending
      metrics.requests.inc({ verb, resource, code: answer.status })
      countFailure(failureOfStatus(verb, answer.status))
      warn(answer.headers.warning as string | undefined)
      return answer
    } catch (error) {
      metrics.requests.inc({ verb, resource, code: error instanceof KubeError ? error.reason : 'Unknown' })
      countFailure(failureOfError(error))
      throw error
    }
  }

  return {
    call: async <T>(call: Call): Promise<T> =>
      readAnswer<T>(call, await counted(call, transport.send({ ...call, ...requestOf[call.verb] }))),
    open: async (call: Call): Promise<OpenAnswer> => {
      const answer = await counted(call, transport.open({ ...call, ...requestOf[call.verb] }))
      if (answer.status === 200) return answer
      readAnswer(call, await answer.read())
      throw localError('BadAnswer', `${call.verb} ${call.resource}: answered ${answer.status}`)
    },
  }
}

type Head = Pick<KubeAnswer, 'status' | 'headers'>

function readAnswer<T>({ verb, resource, name }: Call, { status, headers, body }: KubeAnswer): T {
  const what = [verb, resource, name].filter((part) => part !== undefined).join(' ')
  const parsed = parse(body)
  if (status >= 200 && status < 300 && parsed !== undefined) return parsed as T
  if (status < 400) throw localError('BadAnswer', `${what}: answered ${status} without a JSON object`)
  const answer = (parsed ?? { message: body.slice(0, 200) }) as Status
  throw refusal(what, { ...answer, code: status }, headers['retry-after'])
}

function parse(body: string): object | undefined {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** 403 of a write may come from an admission policy or a quota; 403 of a read means missing rights. */
export function failureOfStatus(verb: Verb, status: number): ConnectionErrorReason | undefined {
  if (status === 401 || (status === 403 && requestOf[verb].method === 'GET')) return 'credentials'
  return status >= 500 ? 'other' : undefined
}

export function failureOfError(error: unknown): ConnectionErrorReason | undefined {
  const reason = error instanceof KubeError ? error.reason : undefined
  if (reason === 'Aborted') return undefined
  return reason === 'Timeout' ? 'timeout' : connectionErrorReason(error)
}
