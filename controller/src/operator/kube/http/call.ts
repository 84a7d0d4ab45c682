// A call: a request with a name for logs and metrics, counted, and its answer read as JSON or thrown as KubeError.
import type { ConnectionErrorReason } from '@matte/core/runtime/metrics/connection-error'
import type { Logger } from 'pino'
import type { ClusterMetrics } from '../cluster-metrics.ts'
import type { Status } from '../objects.ts'
import { KubeError, localError, refusal } from './kube-error.ts'
import { failureOfError, failureOfStatus } from './server-failure.ts'
import type { createTransport, KubeAnswer, KubeRequest, OpenAnswer } from './transport.ts'
import { requestOf, type Verb } from './verbs.ts'

export type Call = Omit<KubeRequest, 'method' | 'contentType'> & {
  readonly verb: Verb
  /** Plural of the resource, with its subresource: the label of the metric. */
  readonly resource: string
  readonly name?: string | undefined
}

/** The server warns of deprecated versions and unknown fields; so many different warnings are logged, once each. */
const warningsMax = 100

export function createCaller(transport: ReturnType<typeof createTransport>, metrics: ClusterMetrics, logger: Logger) {
  const logged = new Set<string>()

  function warn(warning: string | undefined): void {
    if (warning === undefined || logged.has(warning) || logged.size >= warningsMax) return
    logged.add(warning)
    logger.warn({ warning }, 'the API server warns')
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
    /** As `call`, with the body still to come. */
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
  if (status < 400) throw localError('BadAnswer', `${what}: answered ${status} with what is no JSON`)
  // Proxies and servers in trouble answer in plain text.
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
