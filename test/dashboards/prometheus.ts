// A real Prometheus as a child: it scrapes our processes each second and answers PromQL.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunningServer, startServer } from '@matte/local/lifecycle/server'
import { freePorts } from '../support/free-ports.ts'
import type { TestProcess } from '../support/processes.ts'

/** What the chart's monitors put on every series. */
export const series = { namespace: 'matte-test', job: 'matte' } as const

type Point = readonly [seconds: number, value: number]
export type Series = { readonly labels: Readonly<Record<string, string>>; readonly points: readonly Point[] }

export type Span = { readonly from: number; readonly to: number; readonly step: number }

export type Prometheus = {
  /** These processes from now on; those before them are gone. */
  scrape(processes: readonly Pick<TestProcess, 'name' | 'healthUrl'>[]): void
  /** @throws Error with Prometheus's own words */
  ask(expr: string): Promise<readonly Series[]>
  /** Times in seconds since 1970. @throws Error with Prometheus's own words */
  askRange(expr: string, span: Span): Promise<readonly Series[]>
  stop(): Promise<void>
}

export async function startPrometheus(dir: string): Promise<Prometheus> {
  mkdirSync(dir, { recursive: true })
  const [port = 0] = await freePorts(1)
  const targets = join(dir, 'targets.json')
  writeFileSync(targets, '[]')
  writeFileSync(join(dir, 'prometheus.yml'), buildConfig(targets))
  const url = `http://127.0.0.1:${port}`
  const server: RunningServer = await startServer({
    name: 'prometheus',
    command: 'prometheus',
    args: [
      `--config.file=${join(dir, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    env: { PATH: process.env.PATH },
    url,
    ports: [port],
    ready: async () => (await fetch(`${url}/-/ready`)).ok,
    logFile: join(dir, 'prometheus.log'),
    lifetime: 'attached',
  })
  return {
    scrape: (processes) => writeFileSync(targets, JSON.stringify(processes.map(toTarget))),
    ask: async (expr) => toSeries(await query(`${url}/api/v1/query`, { query: expr })),
    askRange: async (expr, { from, to, step }) =>
      toSeries(
        await query(`${url}/api/v1/query_range`, { query: expr, start: `${from}`, end: `${to}`, step: `${step}` }),
      ),
    stop: () => server.stop(),
  }
}

const buildConfig = (targets: string): string =>
  JSON.stringify({
    global: { scrape_interval: '1s', scrape_timeout: '1s' },
    scrape_configs: [{ job_name: 'unnamed', file_sd_configs: [{ files: [targets], refresh_interval: '1s' }] }],
  })

function toTarget({ name, healthUrl }: Pick<TestProcess, 'name' | 'healthUrl'>) {
  const { host, port } = new URL(healthUrl)
  return { targets: [host], labels: { ...series, pod: `${name}-${port}` } }
}

type Sample = readonly [number, string]
type Answer = {
  readonly error?: string
  readonly data?: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>
      readonly value?: Sample
      readonly values?: readonly Sample[]
    }[]
  }
}

async function query(url: string, parameters: Readonly<Record<string, string>>): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(parameters) })
  const answer = (await response.json()) as Answer
  if (answer.error !== undefined) throw new Error(`${answer.error}: ${parameters.query}`)
  return answer
}

const toSeries = ({ data }: Answer): Series[] =>
  (data?.result ?? []).map(({ metric, value, values = value === undefined ? [] : [value] }) => ({
    labels: metric,
    points: values.map(([seconds, text]) => [seconds, Number(text)] as const),
  }))
