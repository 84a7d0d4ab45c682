// Usage by model or by member: a chart of the last thirty days and a table of the month.
import type { App } from 'matte-client/app'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Chart } from '../../ui/chart.tsx'
import { Card, Grid } from '../../ui/page.tsx'
import { Empty } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { stackDays } from './stack-days.ts'
import styles from './usage.module.css'
import { usageText } from './usage-text.ts'

type Totals = Omit<App.UsageDetail['models'][number], 'modelVersion' | 'daily'>

export type Share = Totals & {
  readonly key: string
  readonly name: string
  readonly daily?: App.UsageDetail['models'][number]['daily']
}

type SharesProps = {
  readonly title: string
  /** Name of the first column. */
  readonly noun: string
  readonly shares: readonly Share[]
  /** `YYYY-MM-DD` of the chart; without days there is no chart. */
  readonly days: readonly string[]
  /** Tasks of this month in all. */
  readonly totalTasks: number
}

export function Shares({ title, noun, shares, days, totalTasks }: SharesProps) {
  const text = useText(usageText)
  const format = useFormat()
  const uncounted = totalTasks - shares.reduce((sum, share) => sum + share.totalTasks, 0)
  const labels = days.map((date) => format.date(`${date}T00:00:00`))
  return (
    <Grid>
      {days.length > 0 && shares.length > 0 && (
        <Card>
          <Chart
            title={text.byDay(title)}
            labels={labels}
            format={format.number}
            series={stackDays(shares, days, text.others)}
          />
        </Card>
      )}
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
    </Grid>
  )
}
