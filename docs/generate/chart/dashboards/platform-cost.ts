// The row of the platform dashboard about what the work takes.
import type { Row } from './panel.ts'
import { perSecond } from './rates.ts'

/** prom-client's own metrics have names that every program of Node.js has. */
export const ours = 'process=~"api|worker|operator|dispatcher"'
const triton = 'state=~"ready|draining"'

const podHours = `sum_over_time((sum(max by (namespace, pool, state) (matte_pool_replicas{${triton}})))[RANGE:1m]) / 60`

export const cost: Row = {
  title: 'Cost: what does the work take?',
  panels: [
    {
      title: 'Hours of Triton pods',
      sentence: 'Ready and draining pods in the time shown, added up minute by minute: what the nodes are paid for.',
      kind: 'stat',
      unit: 'short',
      width: 8,
      needs: 'pools',
      queries: [{ expr: podHours, legend: 'hours' }],
    },
    {
      title: 'Tasks for each hour of a Triton pod',
      sentence: 'Succeeded tasks over the hours of the pods. It falls when pods stand idle.',
      kind: 'stat',
      unit: 'short',
      width: 8,
      needs: 'pools',
      queries: [
        {
          expr: `sum(increase(matte_task_attempts_total{status="succeeded"}[RANGE])) / (${podHours})`,
          legend: 'tasks',
        },
      ],
    },
    {
      title: 'CPU for each task',
      sentence: "CPU seconds of Matte's own processes over the tasks that ended, Triton left out.",
      kind: 'stat',
      unit: 's',
      width: 8,
      queries: [
        {
          expr:
            `sum(increase(process_cpu_seconds_total{${ours}}[RANGE])) ` +
            '/ sum(increase(matte_task_completion_seconds_count{}[RANGE]))',
          legend: 'CPU',
        },
      ],
    },
    {
      title: 'CPU by process',
      sentence: 'Cores in use, to hold against the requests of the pods.',
      kind: 'stack',
      unit: 'short',
      queries: [{ expr: perSecond('process_cpu_seconds_total', 'process', ours), legend: '{{process}}' }],
    },
    {
      title: 'Triton pods',
      sentence: 'Ready and draining pods of each pool: the costly part.',
      kind: 'stack',
      unit: 'none',
      needs: 'pools',
      queries: [
        {
          expr: `sum by (pool) (max by (namespace, pool, state) (matte_pool_replicas{${triton}}))`,
          legend: '{{pool}}',
        },
      ],
    },
  ],
}
