import type { App } from 'matte-client/app'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Card, Stack } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import styles from './operator.module.css'
import { operatorText } from './operator-text.ts'
import { RunbookLink } from './runbook-link.tsx'
import { useRollouts } from './use-operator.ts'

const tones = { passed: 'good', waiting: 'neutral', failed: 'bad', notMeasured: 'neutral' } as const

/** Canaries step by step, with the gates of each step. */
export function Rollouts() {
  const text = useText(operatorText)
  const format = useFormat()
  const rollouts = useRollouts()
  const outcomes: Readonly<Record<string, string>> = text.outcomes
  return (
    <Card title={text.rollouts}>
      <Loaded query={rollouts}>
        {({ items }) =>
          items.length === 0 ? (
            <p>{text.noRollouts}</p>
          ) : (
            <Stack>
              {items.map((rollout) => (
                <section key={`${rollout.namespace} ${rollout.pool} ${rollout.revision}`}>
                  <Stack>
                    <h3>
                      {rollout.pool}: {rollout.stable ?? '–'} → {rollout.revision}{' '}
                      <Badge tone={rollout.outcome === 'rolledBack' ? 'bad' : 'neutral'}>
                        {outcomes[rollout.outcome] ?? rollout.outcome}
                      </Badge>{' '}
                      <RunbookLink name={rollout.runbook} />
                    </h3>
                    {rollout.live !== null && (
                      <>
                        <p>{rollout.live.sentence}</p>
                        <Gates gates={rollout.live.gates} />
                      </>
                    )}
                    <ol className={styles.decisions}>
                      {rollout.steps.map((step) => (
                        <li key={`${step.at} ${step.event}`} className={styles.decision}>
                          <div>
                            <p className={styles.time}>{format.dateTime(step.at)}</p>
                            <p className={styles.change}>{text.share(format.percent(step.weight / 100))}</p>
                          </div>
                          <div>
                            <p>{step.sentence}</p>
                            <Gates gates={step.gates} />
                          </div>
                        </li>
                      ))}
                    </ol>
                  </Stack>
                </section>
              ))}
            </Stack>
          )
        }
      </Loaded>
    </Card>
  )
}

function Gates({ gates }: { readonly gates: readonly App.RolloutGate[] }) {
  const text = useText(operatorText)
  if (gates.length === 0) return null
  return (
    <ul className={styles.gates}>
      {gates.map(({ gate, verdict, sentence }) => (
        <li key={gate}>
          <Badge tone={tones[verdict]}>{text.verdicts[verdict]}</Badge> {text.gates[gate]}: {sentence}
        </li>
      ))}
    </ul>
  )
}
