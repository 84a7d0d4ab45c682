// Usage by model or by member: a chart of the last thirty days, and a table of the month.
import type { App } from 'matte-client/app'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Chart } from '../../ui/chart.tsx'
import { Card } from '../../ui/page.tsx'
import { Empty } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { stackDays } from './stack-days.ts'
import styles from './usage.module.css'
import { usageText } from './usage-text.ts'

type Model = App.UsageDetail['models'][number]

type Share = Omit<Model, 'modelVersion' | 'daily'> & { readonly key: string; readonly name: string }

type DailyShare = Share & Pick<Model, 'daily'>

type ChartProps = {
  readonly title: string
  readonly shares: readonly DailyShare[]
  /** `YYYY-MM-DD`, oldest first. */
  readonly days: readonly string[]
}

export function ShareChart({ title, shares, days }: ChartProps) {
  const text = useText(usageText)
  const format = useFormat()
  return (
    <Card>
      <Chart
        title={text.byDay(title)}
        labels={days.map((date) => format.date(`${date}T00:00:00`))}
        format={format.number}
        series={stackDays(shares, days, text.others)}
      />
    </Card>
  )
}

type TableProps = {
  readonly title: string
  /** Name of the first column. */
  readonly noun: string
  readonly shares: readonly Share[]
  /** All tasks of this month. */
  readonly totalTasks: number
}

export function ShareTable({ title, noun, shares, totalTasks }: TableProps) {
  const text = useText(usageText)
  const format = useFormat()
  const uncounted = totalTasks - shares.reduce((sum, share) => sum + share.totalTasks, 0)
  return (
    <Card title={text.thisMonth(title)} isFlush>
      {shares.length === 0 ? (
        <Empty title={text.noTasks} />
      ) : (
        <Table
          label={text.thisMonth(title)}
          rows={shares}
          keyOf={({ key }) => key}
          columns={[
            { name: noun, cell: ({ name }) => name },
            { name: text.tasks, isNumber: true, cell: (share) => format.number(share.totalTasks) },
            { name: text.succeeded, isNumber: true, cell: (share) => format.number(share.succeededTasks) },
            { name: text.failed, isNumber: true, cell: (share) => format.number(share.failedTasks) },
            { name: text.canceled, isNumber: true, cell: (share) => format.number(share.canceledTasks) },
            { name: text.credits, isNumber: true, cell: (share) => format.number(share.creditsConsumed) },
            {
              name: text.latency,
              isNumber: true,
              cell: (share) => (share.succeededTasks === 0 ? '–' : format.duration(share.averageLatencyMs)),
            },
          ]}
        />
      )}
      {uncounted > 0 && <p className={styles.note}>{text.uncounted(format.number(uncounted))}</p>}
    </Card>
  )
}
