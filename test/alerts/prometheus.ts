// A real Prometheus with the chart's rules, which reads our processes.
import { stringify } from 'yaml'
import type { RuleFile } from '../chart/alerts/rules.ts'
import * as plain from '../dashboards/prometheus.ts'

export type Prometheus = Pick<plain.Prometheus, 'watch' | 'stop'> & {
  /** The values of an instant query, by the labels. */
  query(promql: string): Promise<readonly Sample[]>
  /** Names of the alerts that fire, sorted; `severity` alone where it is given. */
  firing(severity?: string): Promise<string[]>
}

type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number }

export async function startPrometheus(dir: string, rules: RuleFile): Promise<Prometheus> {
  const prometheus = await plain.startPrometheus(dir, { namespace: 'here', rules: stringify(rules) })
  const query = async (promql: string): Promise<readonly Sample[]> =>
    (await prometheus.query(promql)).map(({ labels, points }) => ({ labels, value: points[0]?.[1] ?? Number.NaN }))
  return {
    query,
    watch: prometheus.watch,
    firing: async (severity) => {
      const found = await query('ALERTS{alertstate="firing"}')
      const names = found
        .filter(({ labels }) => severity === undefined || labels.severity === severity)
        .map(({ labels }) => labels.alertname ?? '')
      return [...new Set(names)].sort()
    },
    stop: prometheus.stop,
  }
}
