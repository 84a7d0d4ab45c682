// One request to the API server over node:https. Credentials are asked of the configuration for every request, because
// tokens of service accounts are rotated and exec plugins renew theirs. Every request has a deadline; a request that
// runs into it takes the idle connections with it, since they most likely lead to the same dead end.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import type { KubeConfig } from '@kubernetes/client-node'
import { orAborted } from '@matte/core/runtime/race'
import { type KubeError, type LocalReason, localError } from './kube-error.ts'

export type KubeRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** From the root of the API, with its query. */
  readonly path: string
  readonly body?: unknown
  readonly contentType?: string
  readonly timeoutMs: number
  /** A write that may wait for an admission webhook. It uses other connections than reads and Leases. */
  readonly isSlow?: boolean
  readonly signal?: AbortSignal | undefined
}

/** Address and credentials of the API server: a KubeConfig, or those of the pod (in-cluster.ts). */
export type ApiServerAccess = Pick<KubeConfig, 'applyToHTTPSOptions'> & {
  getCurrentCluster(): { readonly server: string; readonly proxyUrl?: string } | null
}

export type KubeAnswer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string }

export type OpenAnswer = Omit<KubeAnswer, 'body'> & {
  readonly response: IncomingMessage
  /** Reads the body to its end, within the deadline. @throws KubeError */
  read(): Promise<KubeAnswer>
  /** For a body that is read as it comes; the signal still ends it. */
  liftDeadline(): void
  /** Why reading the body failed with `error`, as a KubeError. */
  failure(error: unknown): KubeError
  /** Must be called, unless `read` was. */
  close(): void
}

/** A page of a list is the largest answer: 500 objects of what etcd takes at most would not fit, 500 pods do. */
const bodyMaxBytes = 64 * 1024 * 1024

/** Below the 90 s after which the API server closes an idle connection, so that we are the first to. */
const idleConnectionMs = 60_000

/** Sockets for reads and Leases at once; more requests wait in line, within their deadline. */
const socketsMax = 32
/** Sockets for writes: each reconcile pass has 16 at most, and each may wait 30 s for an admission webhook. */
const writeSocketsMax = 256

export function createTransport(config: ApiServerAccess, userAgent = 'kube-client') {
  const cluster = config.getCurrentCluster()
  if (!cluster?.server) throw new Error('the kubeconfig has no cluster for its current context: set one')
  const base = new URL(cluster.server)
  if (base.protocol !== 'https:') throw new Error(`the API server's address must begin with https://: ${base.origin}`)
  // Watches have connections of their own: they last for minutes, and would fill the bound of the others.
  const agents = {
    read: new Agent({ keepAlive: true, maxSockets: socketsMax, timeout: idleConnectionMs }),
    write: new Agent({ keepAlive: true, maxSockets: writeSocketsMax, timeout: idleConnectionMs }),
    watch: new Agent({ keepAlive: false }),
  }

  async function begin(asked: KubeRequest, pool: Agent, deadline: Deadline): Promise<IncomingMessage> {
    const body = asked.body === undefined ? undefined : Buffer.from(JSON.stringify(asked.body))
    const options: RequestOptions = {
      method: asked.method,
      hostname: base.hostname.replace(/^\[|\]$/g, ''),
      port: base.port || 443,
      path: base.pathname.replace(/\/$/, '') + asked.path,
      headers: {
        accept: 'application/json',
        'user-agent': userAgent,
        ...(body && { 'content-type': asked.contentType ?? 'application/json', 'content-length': body.length }),
      },
    }
    await orAborted(config.applyToHTTPSOptions(options), deadline.signal)
    // The kubeconfig's agent is needed for the proxy that it knows; else it would make a connection for each request.
    if (cluster?.proxyUrl === undefined) options.agent = pool
    return await send(options, body, deadline.signal)
  }

  async function open(asked: KubeRequest, pool: Agent): Promise<OpenAnswer> {
    const deadline = startDeadline(asked)
    const failure = (error: unknown): KubeError => {
      const failed = deadline.reason() ?? unreachable(asked, error)
      if (failed.reason === 'Timeout') dropIdleConnections(pool)
      return failed
    }
    try {
      const response = await begin(asked, pool, deadline)
      return toOpenAnswer(response, deadline, failure)
    } catch (error) {
      deadline.clear()
      throw failure(error)
    }
  }

  return {
    /** Sends and reads the whole answer within the deadline. @throws KubeError with status 0 when there is none. */
    send: async (asked: KubeRequest): Promise<KubeAnswer> =>
      await (await open(asked, asked.isSlow ? agents.write : agents.read)).read(),
    /** Sends, on a connection of its own, and returns once the headers are there. @throws KubeError as `send`. */
    open: (asked: KubeRequest): Promise<OpenAnswer> => open(asked, agents.watch),
    close: (): void => {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

function dropIdleConnections(pool: Agent): void {
  for (const sockets of Object.values(pool.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
}

async function readText(response: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  for await (const chunk of response) {
    sizeBytes += chunk.length
    if (sizeBytes > bodyMaxBytes) throw localError('TooLarge', `the answer is larger than ${bodyMaxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function send(options: RequestOptions, body: Buffer | undefined, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...options, signal })
    let answered = false
    outgoing.on('response', (response) => {
      answered = true
      resolve(response)
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      // An idle connection that the server closed just as we took it: nothing was done, so a question is asked again.
      // A write is not: whether it was done cannot be known, and a second try would conflict with the first.
      const stale = !answered && outgoing.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')
      if (stale && options.method === 'GET' && !signal.aborted) send(options, body, signal).then(resolve, reject)
      else reject(error)
    })
    outgoing.end(body)
  })
}

function toOpenAnswer(response: IncomingMessage, deadline: Deadline, failure: OpenAnswer['failure']): OpenAnswer {
  response.on('error', () => undefined) // it may come while nobody reads; a later read fails all the same
  const close = (): void => {
    deadline.clear()
    if (!response.complete) response.destroy()
  }
  const head = { status: response.statusCode ?? 0, headers: response.headers }
  const read = async (): Promise<KubeAnswer> => {
    try {
      return { ...head, body: await readText(response) }
    } catch (error) {
      throw failure(error)
    } finally {
      close()
    }
  }
  return { ...head, response, read, liftDeadline: deadline.lift, failure, close }
}

type Deadline = ReturnType<typeof startDeadline>

function startDeadline({ method, path, timeoutMs, signal }: KubeRequest) {
  const controller = new AbortController()
  const end = (reason: LocalReason, why: string): void => {
    controller.abort(localError(reason, `${method} ${pathOnly(path)}: ${why}`))
  }
  const aborted = (): void => end('Aborted', 'given up by the caller')
  const timer = setTimeout(() => end('Timeout', `no answer within ${timeoutMs} ms`), timeoutMs)
  signal?.addEventListener('abort', aborted, { once: true })
  if (signal?.aborted) aborted()
  return {
    signal: controller.signal,
    /** Why the signal was aborted. */
    reason: () => controller.signal.reason as KubeError | undefined,
    lift: () => clearTimeout(timer),
    clear: () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', aborted)
    },
  }
}

const pathOnly = (path: string): string => path.split('?', 1)[0] ?? path

function unreachable({ method, path }: KubeRequest, error: unknown): KubeError {
  if (error instanceof Error && error.name === 'KubeError') return error as KubeError
  const why = error instanceof Error ? error.message || (error as NodeJS.ErrnoException).code : String(error)
  return localError('Unreachable', `${method} ${pathOnly(path)}: ${why}`, error)
}
