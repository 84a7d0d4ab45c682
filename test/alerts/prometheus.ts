// A real Prometheus with the chart's rules, which reads our processes.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startServer } from '@matte/local/lifecycle/server'
import { answers } from '@matte/local/lifecycle/wait'
import { stringify } from 'yaml'
import type { RuleFile } from '../chart/alerts/rules.ts'
import { freePorts } from '../support/free-ports.ts'
import type { TestProcess } from '../support/processes.ts'

export type Prometheus = {
  /** Reads these from now on, each as a pod of its own; one that has gone is down. */
  watch(processes: readonly TestProcess[]): void
  /** The values of an instant query, by the labels. */
  query(promql: string): Promise<readonly Sample[]>
  /** Names of the alerts that fire, sorted; `severity` alone where it is given. */
  firing(severity?: string): Promise<string[]>
  stop(): Promise<void>
}

type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number }

export async function startPrometheus(dir: string, rules: RuleFile): Promise<Prometheus> {
  mkdirSync(dir, { recursive: true })
  const [port = 0] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  const targets = join(dir, 'targets.json')
  writeFileSync(targets, '[]')
  writeFileSync(join(dir, 'rules.yaml'), stringify(rules))
  writeFileSync(join(dir, 'prometheus.yaml'), stringify(config(targets)))
  const server = await startServer({
    name: 'prometheus',
    command: 'prometheus',
    args: [
      `--config.file=${join(dir, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    env: { PATH: process.env.PATH, HOME: dir },
    url,
    ports: [port],
    logFile: join(dir, 'prometheus.log'),
    lifetime: 'attached',
    ready: () => answers(`${url}/-/ready`),
  })

  async function query(promql: string): Promise<readonly Sample[]> {
    const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query: promql })}`)
    const body = (await response.json()) as Answer
    if (body.status !== 'success') throw new Error(`${promql}: ${body.error}`)
    return body.data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }))
  }
  return {
    query,
    watch: (processes) => {
      const groups = processes.map(({ name, pid, healthUrl }) => ({
        targets: [new URL(healthUrl).host],
        labels: { namespace: 'here', pod: `${name}-${pid}` },
      }))
      writeFileSync(`${targets}.new`, JSON.stringify(groups))
      renameSync(`${targets}.new`, targets)
    },
    firing: async (severity) => {
      const found = await query('ALERTS{alertstate="firing"}')
      const names = found
        .filter(({ labels }) => severity === undefined || labels.severity === severity)
        .map(({ labels }) => labels.alertname ?? '')
      return [...new Set(names)].sort()
    },
    stop: () => server.stop(),
  }
}

type Answer = {
  readonly status: string
  readonly error?: string
  readonly data: { readonly result: readonly { metric: Record<string, string>; value: readonly [number, string] }[] }
}

const config = (targets: string) => ({
  global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
  rule_files: ['rules.yaml'],
  scrape_configs: [{ job_name: 'matte', file_sd_configs: [{ files: [targets], refresh_interval: '1s' }] }],
})
