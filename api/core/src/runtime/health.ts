// `/healthz`, `/readyz` and `/metrics` on their own port. Uses node:http, because only
// the API has a web framework.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import { type Clock, systemClock } from './clock.ts'
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

export function healthServer({ host, port, readiness, registry }: HealthOptions): Service & { port(): number } {
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string): void => {
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
