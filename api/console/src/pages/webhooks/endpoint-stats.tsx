import { useQuery } from '@tanstack/react-query'
import { useService } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Chart } from '../../ui/chart.tsx'
import { Card, Facts, Grid } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { webhooksText } from './webhooks-text.ts'

/** Attempts of the last seven days, by hour. */
export function EndpointStats({ webhookId }: { readonly webhookId: string }) {
  const service = useService()
  const text = useText(webhooksText)
  const format = useFormat()
  const stats = useQuery({
    queryKey: ['webhook-stats', webhookId],
    queryFn: () => service.webhooks.stats(webhookId),
  })
  const orDash = <T,>(value: T | null, write: (value: T) => string): string => (value === null ? '–' : write(value))
  return (
    <Loaded query={stats} lines={6}>
      {({ hourly, ...all }) => {
        const labels = hourly.map(({ start }) => format.dateTime(start))
        return (
          <>
            <Card title={text.week}>
              <Facts
                facts={[
                  { name: text.attempts, value: format.number(all.totalAttempts) },
                  { name: text.successRate, value: orDash(all.successRate, format.percent) },
                  { name: text.latencyP50, value: orDash(all.latencyP50Ms, format.duration) },
                  { name: text.latencyP95, value: orDash(all.latencyP95Ms, format.duration) },
                ]}
              />
            </Card>
            <Grid>
              <Card>
                <Chart
                  title={text.attemptsByHour}
                  labels={labels}
                  format={format.number}
                  series={[
                    { name: text.delivered, values: hourly.map((hour) => hour.succeededAttempts), tone: 'good' },
                    { name: text.failed, values: hourly.map((hour) => hour.failedAttempts), tone: 'bad' },
                  ]}
                />
              </Card>
              <Card>
                <Chart
                  title={text.latencyByHour}
                  labels={labels}
                  format={format.duration}
                  kind="lines"
                  series={[
                    { name: text.latencyP50, values: hourly.map((hour) => hour.latencyP50Ms) },
                    { name: text.latencyP95, values: hourly.map((hour) => hour.latencyP95Ms), tone: 'soft' },
                  ]}
                />
              </Card>
            </Grid>
          </>
        )
      }}
    </Loaded>
  )
}
