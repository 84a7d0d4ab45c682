import type { App } from 'matte-client/app'
import { useApp } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Chart } from '../../ui/chart.tsx'
import { Card, Facts, Grid, Page, Stack } from '../../ui/page.tsx'
import { Paged } from '../../ui/paged.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import styles from './operator.module.css'
import { operatorText } from './operator-text.ts'
import { Rollouts } from './rollouts.tsx'
import { RunbookLink } from './runbook-link.tsx'
import { usePools, useSamples } from './use-operator.ts'

/** Pools with their last hour, every decision with its sentence and numbers, and canaries. */
export function PoolsPage() {
  const text = useText(operatorText)
  const pools = usePools()
  return (
    <Page title={text.pools} lede={text.poolsLede}>
      <Loaded query={pools} lines={10}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={text.noPools} />
          ) : (
            items.map((pool) => <PoolCard key={`${pool.namespace} ${pool.name}`} pool={pool} />)
          )
        }
      </Loaded>
      <Rollouts />
      <Decisions />
    </Page>
  )
}

const tones: Readonly<Record<string, 'good' | 'warn' | 'bad' | 'neutral'>> = {
  ready: 'good',
  degraded: 'bad',
  closed: 'bad',
  stale: 'warn',
}

function PoolCard({ pool }: { readonly pool: App.OperatorPool }) {
  const text = useText(operatorText)
  const format = useFormat()
  const states: Readonly<Record<string, string>> = text.states
  const or = (value: number | null): string => (value === null ? '–' : format.number(value))
  const { namespace, name, state } = pool
  return (
    <Card
      title={namespace === null ? name : `${namespace}/${name}`}
      actions={
        <span>
          <Badge tone={tones[state] ?? 'neutral'}>{states[state] ?? state}</Badge> <RunbookLink name={pool.runbook} />
        </span>
      }
    >
      <Stack>
        <p>{pool.sentence}</p>
        <Facts
          facts={[
            { name: text.wanted, value: <span className="figure">{or(pool.wanted)}</span> },
            { name: text.ready, value: <span className="figure">{or(pool.ready)}</span> },
            { name: text.queue, value: <span className="figure">{or(pool.queue)}</span> },
            { name: text.inFlight, value: <span className="figure">{or(pool.inFlight)}</span> },
            { name: text.bounds, value: `${or(pool.minReplicas)} – ${or(pool.maxReplicas)}` },
            { name: text.models, value: pool.models.join(', ') },
          ]}
        />
        <Numbers numbers={pool.numbers} />
        {namespace !== null && pool.source === 'operator' && <LastHour namespace={namespace} name={name} />}
      </Stack>
    </Card>
  )
}

function LastHour({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const text = useText(operatorText)
  const format = useFormat()
  const samples = useSamples({ namespace, name })
  return (
    <Loaded query={samples} lines={6}>
      {({ samples: points }) => {
        if (points.length === 0) return <Empty title={text.noSamples} />
        const labels = points.map(({ at }) => format.time(at))
        return (
          <Grid>
            <Chart
              title={text.podsByTime}
              labels={labels}
              format={format.number}
              kind="lines"
              series={[
                { name: text.wanted, values: points.map(({ wanted }) => wanted), tone: 'accent' },
                { name: text.ready, values: points.map(({ ready }) => ready), tone: 'good' },
              ]}
            />
            <Chart
              title={text.workByTime}
              labels={labels}
              format={format.number}
              kind="lines"
              series={[
                { name: text.queue, values: points.map(({ queue }) => queue), tone: 'bad' },
                { name: text.inFlight, values: points.map(({ inFlight }) => inFlight), tone: 'accent' },
              ]}
            />
          </Grid>
        )
      }}
    </Loaded>
  )
}

function Decisions() {
  const app = useApp()
  const text = useText(operatorText)
  const format = useFormat()
  return (
    <Card title={text.decisions} isFlush>
      <Paged<App.ScalingDecision>
        queryKey={['operator', 'decisions']}
        read={(cursor) => app.request('GET', '/operator/decisions', { query: cursor === undefined ? {} : { cursor } })}
        empty={<Empty title={text.noDecisions} />}
        isLive
      >
        {(decisions) => (
          <ol className={styles.decisions}>
            {decisions.map(({ id, at, pool, from, to, kind, sentence, numbers, runbook }) => (
              <li key={id} className={styles.decision}>
                <div>
                  <p className={styles.time}>{format.dateTime(at)}</p>
                  <p>{pool}</p>
                  <p className={styles.change}>
                    {kind === 'change' ? `${format.number(from)} → ${format.number(to)}` : text.hold(format.number(to))}
                  </p>
                </div>
                <Stack>
                  <p>{sentence}</p>
                  <Numbers numbers={numbers} />
                  <RunbookLink name={runbook} />
                </Stack>
              </li>
            ))}
          </ol>
        )}
      </Paged>
    </Card>
  )
}

/** Inputs and terms of the rule, as docs/autoscaling.md names them. */
function Numbers({ numbers }: { readonly numbers: Readonly<Record<string, number>> }) {
  const format = useFormat()
  const entries = Object.entries(numbers)
  if (entries.length === 0) return null
  return (
    <p className={styles.numbers}>
      {entries.map(([name, value]) => (
        <span key={name}>
          {name} <code>{format.number(value)}</code>
        </span>
      ))}
    </p>
  )
}
