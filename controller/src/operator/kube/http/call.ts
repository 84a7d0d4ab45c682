// A call: a request with a name for logs and metrics, counted, and its answer read as JSON or thrown as KubeError.
import type { Logger } from 'pino'
import type { KubeMetrics } from '../kube-metrics.ts'
import type { Status } from '../objects.ts'
import { KubeError, localError, refusal } from './kube-error.ts'
import type { KubeAnswer, KubeRequest, OpenAnswer, Transport } from './transport.ts'

export type Call = KubeRequest & {
  readonly verb: 'get' | 'list' | 'watch' | 'apply' | 'create' | 'patch' | 'update' | 'delete'
  /** Plural of the resource, with its subresource: the label of the metric. */
  readonly resource: string
  readonly name?: string | undefined
}

export type Caller = {
  call<T>(call: Call): Promise<T>
  /** As `call`, with the body still to come. */
  open(call: Call): Promise<OpenAnswer>
}

type Headed = Pick<KubeAnswer, 'status' | 'headers'>

/** The server warns of deprecated versions and unknown fields; so many different warnings are logged, once each. */
const warningsMax = 100

export function createCaller(transport: Transport, metrics: KubeMetrics, logger: Logger): Caller {
  const logged = new Set<string>()

  function warn(warning: string | undefined): void {
    if (warning === undefined || logged.has(warning) || logged.size >= warningsMax) return
    logged.add(warning)
    logger.warn({ warning }, 'the API server warns')
  }

  async function counted<A>({ verb, resource }: Call, answer: Promise<A>, head: (answer: A) => Headed): Promise<A> {
    try {
      const { status, headers } = head(await answer)
      metrics.requests.inc({ verb, resource, code: status })
      warn(headers.warning as string | undefined)
      return await answer
    } catch (error) {
      metrics.requests.inc({ verb, resource, code: error instanceof KubeError ? error.reason : 'Unknown' })
      throw error
    }
  }

  return {
    call: async <T>(call: Call) => readAnswer<T>(call, await counted(call, transport.send(call), (answer) => answer)),
    open: async (call) => {
      const head = ({ response }: OpenAnswer) => ({ status: response.statusCode ?? 0, headers: response.headers })
      const answer = await counted(call, transport.open(call), head)
      if (answer.response.statusCode === 200) return answer
      readAnswer(call, await answer.read())
      throw localError('BadAnswer', `${call.verb} ${call.resource}: answered ${answer.response.statusCode}`)
    },
  }
}

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
