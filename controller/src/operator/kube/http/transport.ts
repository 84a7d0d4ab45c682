// Requests to the API server over node:https. Credentials are read for every request, because service account tokens
// rotate and exec plugins renew theirs. A request that times out also closes the idle connections, which are probably
// dead too.
//
// @kubernetes/client-node 2.0.1 cannot replace transport, reflector, queue and Lease: its watch ignores unreadable
// lines and requests no bookmarks, and it has neither a work queue nor a leader election (A33).
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import type { KubeConfig } from '@kubernetes/client-node'
import { orAborted } from '@matte/core/runtime/race'
import { type KubeError, type LocalReason, localError } from './kube-error.ts'

export type KubeRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  readonly contentType?: string
  readonly timeoutMs: number
  /** A write that may wait for an admission webhook; it uses other connections than reads and Leases. */
  readonly isSlow?: boolean
  readonly signal?: AbortSignal | undefined
}

/** Address and credentials: a KubeConfig, or those of the pod (cluster-access.ts). */
export type ApiServerAccess = Pick<KubeConfig, 'applyToHTTPSOptions'> & {
  getCurrentCluster(): { readonly server: string; readonly proxyUrl?: string } | null
}

export type KubeAnswer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string }

export type OpenAnswer = Omit<KubeAnswer, 'body'> & {
  readonly response: IncomingMessage
  /** Reads the whole body within the deadline. @throws KubeError */
  read(): Promise<KubeAnswer>
  /** For streamed bodies; the signal still ends them. */
  liftDeadline(): void
  failure(error: unknown): KubeError
  /** Required unless `read` was called. */
  close(): void
}

/** Fits a page of 500 pods, the largest response. */
const bodyMaxBytes = 64 * 1024 * 1024

/** Below the API server's own 90 s, so this side closes first. */
const idleConnectionMs = 60_000

/** Sockets for reads and Leases; further requests wait within their deadline. */
const socketsMax = 32
/** Sockets for writes: at most 16 per reconcile pass, and each may wait 30 s for an admission webhook. */
const writeSocketsMax = 256

export function createTransport(config: ApiServerAccess, userAgent = 'kube-client') {
  const cluster = config.getCurrentCluster()
  if (!cluster?.server) throw new Error('the kubeconfig has no cluster for its current context: set one')
  const base = new URL(cluster.server)
  if (base.protocol !== 'https:') throw new Error(`the API server's address must begin with https://: ${base.origin}`)
  // Watches last for minutes and would occupy the sockets of the others.
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
    // Only with a proxy is the kubeconfig's own agent used, because it opens a connection for each request.
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
    /** Sends and reads the whole response within the deadline. @throws KubeError, with status 0 without a response */
    send: async (asked: KubeRequest): Promise<KubeAnswer> =>
      await (await open(asked, asked.isSlow ? agents.write : agents.read)).read(),
    /** Sends on a separate connection; resolves when the headers arrive. @throws KubeError like `send` */
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
      // The server closed an idle connection while it was reused. A read is safe to repeat. A write is not: it may have
      // taken effect, and would conflict with itself.
      const stale = !answered && outgoing.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')
      if (stale && options.method === 'GET' && !signal.aborted) send(options, body, signal).then(resolve, reject)
      else reject(error)
    })
    outgoing.end(body)
  })
}

function toOpenAnswer(response: IncomingMessage, deadline: Deadline, failure: OpenAnswer['failure']): OpenAnswer {
  response.on('error', () => undefined) // an error may arrive while nothing reads; the next read reports it
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
  const aborted = (): void => end('Aborted', 'aborted by the caller')
  const timer = setTimeout(() => end('Timeout', `no answer within ${timeoutMs} ms`), timeoutMs)
  signal?.addEventListener('abort', aborted, { once: true })
  if (signal?.aborted) aborted()
  return {
    signal: controller.signal,
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

export const requestOf = {
  get: { method: 'GET' },
  list: { method: 'GET' },
  watch: { method: 'GET' },
  apply: { method: 'PATCH', contentType: 'application/apply-patch+yaml' },
  create: { method: 'POST' },
  patch: { method: 'PATCH', contentType: 'application/merge-patch+json' },
  update: { method: 'PUT' },
  delete: { method: 'DELETE' },
} as const

export type Verb = keyof typeof requestOf
