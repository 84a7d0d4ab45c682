// Row of the platform dashboard: cost of the work.
import type { Row } from './panel.ts'
import { perSecond } from './rates.ts'

/** Restricts prom-client's default metrics, whose names are common to all Node.js programs. */
export const ours = 'process=~"api|worker|operator|dispatcher"'
const triton = 'state=~"ready|draining"'

const podHours = `sum_over_time((sum(max by (namespace, pool, state) (matte_pool_replicas{${triton}})))[RANGE:1m]) / 60`

export const cost: Row = {
  title: 'Cost',
  panels: [
    {
      title: 'Hours of Triton pods',
      sentence: 'Hours of ready and draining pods in the selected time, in steps of a minute.',
      kind: 'stat',
      unit: 'short',
      width: 8,
      needs: 'pools',
      queries: [{ expr: podHours, legend: 'hours' }],
    },
    {
      title: 'Tasks per hour of a Triton pod',
      sentence: 'Succeeded tasks divided by pod hours. Idle pods lower it.',
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
      title: 'CPU per task',
      sentence: "CPU seconds of Matte's processes divided by ended tasks, without Triton.",
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
      sentence: "Cores in use; compare them with the pods' requests.",
      kind: 'stack',
      unit: 'short',
      queries: [{ expr: perSecond('process_cpu_seconds_total', 'process', ours), legend: '{{process}}' }],
    },
    {
      title: 'Triton pods',
      sentence: 'Ready and draining pods of each pool.',
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
