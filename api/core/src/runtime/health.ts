// `/healthz`, `/readyz` and `/metrics` on their own port. Uses node:http, because only
// the API has a web framework. Any pod of the cluster may reach it, so its clients are strangers.
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Registry } from 'prom-client'
import { type Clock, systemClock } from './clock.ts'
import { serveOneAtATime } from './one-at-a-time.ts'
import type { Service } from './service.ts'

/** A readiness condition: undefined when ready, else a short public reason. */
export type Check = () => Promise<string | undefined> | string | undefined

type Answer = { readonly ready: boolean; readonly checks: Readonly<Record<string, string>> }

/** Result of the checks; never rejects. */
export type Readiness = () => Promise<Answer>

type ReadinessOptions = { readonly monotonicMs?: Clock['monotonicMs']; readonly timeoutMs?: number }

/** Age of a cached answer. `/readyz` on the API port is public, so a flood must not cause statements. */
const keptMs = 1_000

/** Runs checks within `timeoutMs`; a check that throws or hangs counts as not ready. Cached for a second. */
export function readiness(
  checks: Readonly<Record<string, Check>>,
  { monotonicMs = systemClock.monotonicMs, timeoutMs = 2_000 }: ReadinessOptions = {},
): Readiness {
  const bounded = Object.entries(checks).map(
    ([name, check]) => [name, withinTime(onceAtATime(check), timeoutMs)] as const,
  )
  let asked: Promise<Answer> | undefined
  let endedMs: number | undefined

  async function run(): Promise<Answer> {
    const results = await Promise.all(bounded.map(async ([name, result]) => [name, await result()] as const))
    endedMs = monotonicMs()
    return { ready: results.every(([, result]) => result === 'ok'), checks: Object.fromEntries(results) }
  }

  return () => {
    if (asked === undefined || (endedMs !== undefined && monotonicMs() - endedMs >= keptMs)) {
      endedMs = undefined
      asked = run()
    }
    return asked
  }
}

/** Does not start a check that still runs. */
function onceAtATime(check: Check): () => Promise<string | undefined> {
  let running: Promise<string | undefined> | undefined
  return () => {
    running ??= Promise.resolve()
      .then(check)
      .finally(() => {
        running = undefined
      })
    return running
  }
}

const withinTime = (check: () => Promise<string | undefined>, timeoutMs: number) => async (): Promise<string> => {
  const { promise: late, resolve } = Promise.withResolvers<string>()
  const timer = setTimeout(() => resolve('no answer in time'), timeoutMs)
  try {
    return (await Promise.race([check(), late])) ?? 'ok'
  } catch {
    return 'unavailable'
  } finally {
    clearTimeout(timer)
  }
}

type HealthOptions = {
  readonly host: string
  readonly port: number
  readonly readiness: Readiness
  readonly registry: Registry
}

/** Open connections of one address. Without a bound on all, so no set of clients keeps the kubelet out. */
const connectionsMax = 64

/** A probe and a scrape send a few hundred bytes. */
const requestTimeoutMs = 10_000

export function healthServer({ host, port, readiness, registry }: HealthOptions): Service & { port(): number } {
  const limits = { headersTimeout: requestTimeoutMs, requestTimeout: requestTimeoutMs }
  const server = createServer({ ...limits, connectionsCheckingInterval: 1_000 }, (request, response) => {
    const answer = (status: number, type: string, body: string): void => {
      // A body is not read; node would discard it until the request ends.
      if (hasBody(request.headers)) response.shouldKeepAlive = false
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
    }
    const path = request.url?.split('?')[0]
    if (path === '/healthz') return answer(200, 'application/json', '{"status":"ok"}')
    if (path === '/readyz') {
      void readiness().then((result) => answer(result.ready ? 200 : 503, 'application/json', JSON.stringify(result)))
      return
    }
    if (path === '/metrics') {
      registry.metrics().then(
        (text) => answer(200, registry.contentType, text),
        () => answer(500, 'text/plain', 'metrics failed'),
      )
      return
    }
    answer(404, 'text/plain', 'Not found. This port serves /healthz, /readyz and /metrics.')
  })
  serveOneAtATime(server)
  limitConnections(server)
  return {
    name: 'health',
    port: () => (server.address() as AddressInfo).port,
    start: () =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => {
          server.removeListener('error', reject)
          resolve()
        })
      }),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

function limitConnections(server: Server): void {
  const open = new Map<string, number>()
  const count = (address: string, change: 1 | -1): number => {
    const left = (open.get(address) ?? 0) + change
    if (left > 0) open.set(address, left)
    else open.delete(address)
    return left
  }
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address = '' } = socket
    const opened = count(address, 1)
    socket.once('close', () => count(address, -1))
    if (opened > connectionsMax) return void socket.destroy()
    // A client that does not read its answer.
    socket.setTimeout(requestTimeoutMs, () => socket.destroy())
  })
}
