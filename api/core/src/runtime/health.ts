// `/healthz`, `/readyz` and `/metrics` on a port of their own (D80), with node:http alone, since two of the three
// processes have no web framework. `/healthz` answers for the process; `/readyz` for what it needs to be useful.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import { type Clock, systemClock } from './clock.ts'
import type { Service } from './service.ts'

/** One thing that readiness depends on: undefined when well, else a short public reason. */
export type Check = () => Promise<string | undefined> | string | undefined

type Answer = { readonly ready: boolean; readonly checks: Readonly<Record<string, string>> }

/** Asks whether the process is ready; never rejects. */
export type Readiness = () => Promise<Answer>

type ReadinessOptions = { readonly monotonicMs?: Clock['monotonicMs']; readonly timeoutMs?: number }

/** How old an answer may be. Anybody may ask on the API's main port, so a flood must cost no statements. */
const keptMs = 1_000

/**
 * Runs every check, each within `timeoutMs`; a check that throws or hangs counts as not ready, in fixed words. One run
 * at a time, whoever asks, and its answer is kept for a second; share one of these between ports.
 */
export function readiness(
  checks: Readonly<Record<string, Check>>,
  { monotonicMs = systemClock.monotonicMs, timeoutMs = 2_000 }: ReadinessOptions = {},
): Readiness {
  const judges = Object.entries(checks).map(([name, check]) => [name, judge(onceAtATime(check), timeoutMs)] as const)
  let asked: Promise<Answer> | undefined
  let endedMs: number | undefined

  async function run(): Promise<Answer> {
    const results = await Promise.all(judges.map(async ([name, result]) => [name, await result()] as const))
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

/** A check that hangs is not begun again beside itself. */
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

const judge = (check: () => Promise<string | undefined>, timeoutMs: number) => async (): Promise<string> => {
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
  /** 0 takes any free port; `port()` says which. */
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
    answer(404, 'text/plain', 'Not found. Here are /healthz, /readyz and /metrics.')
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
