// `/healthz`, `/readyz` and `/metrics` on a port of their own (D80), with node:http alone, since two of the three
// processes have no web framework. `/healthz` answers for the process; `/readyz` for what it needs to be useful.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import type { Service } from './service.ts'

/** One thing that readiness depends on: undefined when well, else a short public reason. */
export type Check = () => Promise<string | undefined> | string | undefined

type Readiness = { readonly ready: boolean; readonly checks: Readonly<Record<string, string>> }

/** Runs every check, each within `timeoutMs`; a check that throws or hangs counts as not ready, in fixed words. */
export async function readiness(checks: Readonly<Record<string, Check>>, timeoutMs = 2_000): Promise<Readiness> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await judge(check, timeoutMs)] as const),
  )
  return { ready: results.every(([, result]) => result === 'ok'), checks: Object.fromEntries(results) }
}

async function judge(check: Check, timeoutMs: number): Promise<string> {
  const { promise: late, resolve } = Promise.withResolvers<string>()
  const timer = setTimeout(() => resolve('no answer in time'), timeoutMs)
  try {
    return (await Promise.race([Promise.resolve().then(check), late])) ?? 'ok'
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
  readonly checks: Readonly<Record<string, Check>>
  readonly registry: Registry
}

export function healthServer({ host, port, checks, registry }: HealthOptions): Service & { port(): number } {
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string): void => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
    }
    const path = request.url?.split('?')[0]
    if (path === '/healthz') return answer(200, 'application/json', '{"status":"ok"}')
    if (path === '/readyz') {
      readiness(checks).then(
        (result) => answer(result.ready ? 200 : 503, 'application/json', JSON.stringify(result)),
        () => answer(503, 'application/json', '{"ready":false}'),
      )
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
