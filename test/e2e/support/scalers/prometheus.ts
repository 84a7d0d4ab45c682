// A real Prometheus beside the cluster that scrapes one process every second.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunningServer, startServer } from '@matte/local/lifecycle/server'
import { answers } from '@matte/local/lifecycle/wait'
import { freePorts } from '../../../support/free-ports.ts'

export type Prometheus = RunningServer & {
  /** Value of a query with one sample; undefined without a sample. */
  ask(query: string): Promise<number | undefined>
}

/** `labels` as set by a PodMonitor. */
export async function startPrometheus(
  dir: string,
  target: { readonly healthUrl: string; readonly labels: Readonly<Record<string, string>> },
): Promise<Prometheus> {
  const [port = 0] = await freePorts(1)
  mkdirSync(dir, { recursive: true })
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s' },
    scrape_configs: [
      {
        job_name: 'matte',
        static_configs: [{ targets: [new URL(target.healthUrl).host], labels: target.labels }],
      },
    ],
  }
  // JSON is YAML.
  writeFileSync(join(dir, 'prometheus.yml'), JSON.stringify(config))
  const url = `http://127.0.0.1:${port}`
  const server = await startServer({
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
    ready: () => answers(`${url}/-/ready`),
    logFile: join(dir, 'prometheus.log'),
    lifetime: 'attached',
  })
  const ask = async (query: string): Promise<number | undefined> => {
    const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`)
    const { data } = (await response.json()) as { data?: { result: { value: [number, string] }[] } }
    const value = data?.result[0]?.value[1]
    return value === undefined ? undefined : Number(value)
  }
  return { ...server, ask }
}
