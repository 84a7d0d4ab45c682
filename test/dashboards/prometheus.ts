// A real Prometheus as a child process: it scrapes Matte's processes each second and answers PromQL.
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startServer } from '@matte/local/lifecycle/server'
import { answers } from '@matte/local/lifecycle/wait'
import { freePorts } from '../support/free-ports.ts'
import type { TestProcess } from '../support/processes.ts'
import { reportSkip } from '../support/report/skips.ts'

type Point = readonly [seconds: number, value: number]
export type Series = { readonly labels: Readonly<Record<string, string>>; readonly points: readonly Point[] }

export type Span = { readonly from: number; readonly to: number; readonly step: number }

export type Prometheus = {
  /** Sets the scrape targets, each as a separate pod; a stopped one is down. */
  watch(processes: readonly TestProcess[]): void
  /** An instant query. @throws Error with Prometheus' message */
  query(promql: string): Promise<readonly Series[]>
  /** Times in seconds since 1970. @throws Error with Prometheus' message */
  queryRange(promql: string, span: Span): Promise<readonly Series[]>
  stop(): Promise<void>
}

/** Reason why tests of these files cannot run, reported once. */
export function findMissingPrometheus(matching: string): string | undefined {
  try {
    execFileSync('prometheus', ['--version'], { stdio: 'ignore' })
    return undefined
  } catch {
    const reason = 'prometheus is not in $PATH'
    reportSkip({ matching, reason })
    return reason
  }
}

/** Adds `namespace` to every series, like the chart's monitors. `rules` is the text of a rules file. */
type Options = { readonly namespace: string; readonly rules?: string }

export async function startPrometheus(dir: string, { namespace, rules }: Options): Promise<Prometheus> {
  mkdirSync(dir, { recursive: true })
  const [port = 0] = await freePorts(1)
  const targets = join(dir, 'targets.json')
  writeFileSync(targets, '[]')
  if (rules !== undefined) writeFileSync(join(dir, 'rules.yaml'), rules)
  writeFileSync(join(dir, 'prometheus.yml'), buildConfig(targets, rules !== undefined))
  const url = `http://127.0.0.1:${port}`
  const server = await startServer({
    name: 'prometheus',
    command: 'prometheus',
    args: [
      `--config.file=${join(dir, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    env: { PATH: process.env.PATH, HOME: dir },
    url,
    ports: [port],
    ready: () => answers(`${url}/-/ready`),
    logFile: join(dir, 'prometheus.log'),
    lifetime: 'attached',
  })
  return {
    watch: (processes) => {
      const groups = processes.map(({ name, pid, healthUrl }) => ({
        targets: [new URL(healthUrl).host],
        labels: { namespace, pod: `${name}-${pid}` },
      }))
      writeFileSync(`${targets}.new`, JSON.stringify(groups))
      renameSync(`${targets}.new`, targets)
    },
    query: async (query) => toSeries(await ask(`${url}/api/v1/query`, { query })),
    queryRange: async (query, { from, to, step }) =>
      toSeries(await ask(`${url}/api/v1/query_range`, { query, start: `${from}`, end: `${to}`, step: `${step}` })),
    stop: () => server.stop(),
  }
}

/** `job` is the release's name, as with the chart's monitors. */
const buildConfig = (targets: string, hasRules: boolean): string =>
  JSON.stringify({
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: hasRules ? ['rules.yaml'] : [],
    scrape_configs: [{ job_name: 'matte', file_sd_configs: [{ files: [targets], refresh_interval: '1s' }] }],
  })

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

async function ask(url: string, parameters: Readonly<Record<string, string>>): Promise<Answer> {
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
