import { Link } from '@tanstack/react-router'
import type { App } from 'matte-client/app'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Card, Facts, Grid, Page } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { operatorText } from './operator-text.ts'
import { useOverview } from './use-operator.ts'

/** State of the installation at a glance. */
export function OverviewPage() {
  const text = useText(operatorText)
  const overview = useOverview()
  return (
    <Page title={text.overview} lede={text.overviewLede}>
      <Loaded query={overview} lines={8}>
        {(data) => <Overview overview={data} />}
      </Loaded>
    </Page>
  )
}

function Overview({ overview }: { readonly overview: App.OperatorOverview }) {
  const text = useText(operatorText)
  const format = useFormat()
  const { throughput, pools, models } = overview
  const atLeast = (value: number): string => `${throughput.isMinimum ? '≥ ' : ''}${format.number(value)}`
  const figure = (value: string) => <span className="figure">{value}</span>
  return (
    <>
      {(overview.maintenance || overview.dispatchPaused) && (
        <Card>
          {overview.maintenance && <Badge tone="warn">{text.maintenance}</Badge>}{' '}
          {overview.dispatchPaused && <Badge tone="warn">{text.dispatchPaused}</Badge>}
        </Card>
      )}
      <Card title={text.work}>
        <Facts
          facts={[
            { name: text.queued, value: figure(format.number(overview.queued)) },
            { name: text.inFlight, value: figure(format.number(overview.inFlight)) },
            { name: text.oldest, value: figure(format.duration(overview.oldestSeconds * 1_000)) },
            { name: text.succeededPerMinute, value: figure(atLeast(throughput.succeededPerMinute)) },
            { name: text.failedPerMinute, value: figure(atLeast(throughput.failedPerMinute)) },
          ]}
        />
      </Card>
      <Grid>
        <Card title={text.attention}>
          <Facts
            facts={[
              {
                name: text.pools,
                value: (
                  <Link to="/operator/pools">
                    {text.ofThem(format.number(pools.attention), format.number(pools.total))}
                  </Link>
                ),
              },
              { name: text.overdue, value: <Link to="/operator/health">{format.number(overview.overdue)}</Link> },
              {
                name: text.brokenInvariants,
                value: (
                  <Link to="/operator/health">
                    {overview.brokenInvariants === null ? text.notChecked : format.number(overview.brokenInvariants)}
                  </Link>
                ),
              },
              {
                name: text.failingEndpoints,
                value: <Link to="/operator/load">{format.number(overview.failingEndpoints)}</Link>,
              },
            ]}
          />
        </Card>
        <Card title={text.models} isFlush>
          <Table
            label={text.models}
            rows={models}
            keyOf={({ modelVersion }) => modelVersion}
            columns={[
              { name: text.model, cell: ({ modelVersion }) => modelVersion },
              { name: text.queued, isNumber: true, cell: ({ queued }) => format.number(queued) },
              { name: text.oldest, isNumber: true, cell: (one) => format.duration(one.oldestSeconds * 1_000) },
            ]}
          />
        </Card>
      </Grid>
    </>
  )
}
