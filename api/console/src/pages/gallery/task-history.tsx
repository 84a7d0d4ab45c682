import type { Task } from 'matte-client'
import { useSession } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Card } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import styles from './task.module.css'
import { taskText } from './task-text.ts'
import { buildTimeLine, type Moment, type Part, type Work } from './time-line.ts'
import { useTaskEvents } from './use-task.ts'

export function TaskHistory({ task }: { readonly task: Task }) {
  const text = useText(taskText)
  const { kind } = useSession()
  const events = useTaskEvents(task)
  return (
    <Card title={text.history}>
      <Loaded query={events} lines={5}>
        {(data) => {
          const { moments, parts } = buildTimeLine(data)
          // Without the history it is unknown when a failed task was claimed.
          const isMeasured = kind !== 'key' || task.status === 'succeeded'
          return (
            <div className={styles.history}>
              {isMeasured && parts.length > 0 && <Parts parts={parts} />}
              <ol className={styles.moments}>
                {moments.map((moment, at) => (
                  <MomentItem
                    key={moment.id}
                    moment={moment}
                    isNewRun={at > 0 && moments[at - 1]?.run !== moment.run}
                    isNow={at === moments.length - 1 && (task.status === 'queued' || task.status === 'processing')}
                  />
                ))}
              </ol>
              {kind === 'key' && <p className={styles.soft}>{text.historyOfKeys}</p>}
            </div>
          )
        }}
      </Loaded>
    </Card>
  )
}

const tones: Readonly<Partial<Record<Moment['type'], 'good' | 'bad' | 'warn' | 'active'>>> = {
  processing: 'active',
  succeeded: 'good',
  failed: 'bad',
  attempt_failed: 'warn',
  canceled: 'warn',
  dead_letter: 'bad',
  dead_lettered: 'bad',
}

type MomentProps = { readonly moment: Moment; readonly isNewRun: boolean; readonly isNow: boolean }

function MomentItem({ moment, isNewRun, isNow }: MomentProps) {
  const text = useText(taskText)
  const format = useFormat()
  const { type, at, run, attempt, message, isFree, work, sinceMs } = moment
  const tone = styles[tones[type] ?? 'plain']
  return (
    <li className={`${styles.moment} ${tone} ${isNow ? styles.now : ''}`}>
      <p>
        <strong>{text.types[type]}</strong>
        {attempt !== undefined && attempt > 1 && <>, {text.attempt(format.number(attempt))}</>}
        {isNewRun && <>, {text.run(format.number(run))}</>}
      </p>
      {message !== undefined && <p>{message}</p>}
      {isFree && <p>{text.notCharged}</p>}
      <p className={styles.soft}>
        <time dateTime={at}>{format.dateTime(at)}</time>
        {sinceMs !== undefined && <> · {text.after(format.duration(sinceMs))}</>}
      </p>
      {work !== undefined && <Attempt work={work} />}
    </li>
  )
}

/** Pod and model of an attempt, and a bar for each of its stages. */
function Attempt({ work: { pod, pool, model, revision, bars, totalMs } }: { readonly work: Work }) {
  const text = useText(taskText)
  const format = useFormat()
  const percent = (ms: number): string => `${((ms / Math.max(1, totalMs)) * 100).toFixed(2)}%`
  const served = [
    [text.servedModel, model],
    [text.pod, pod],
    [text.pool, pool],
    [text.revision, revision],
  ] as const
  return (
    <div className={styles.attempt}>
      {model !== undefined && (
        <dl className={styles.served}>
          {served.map(
            ([name, value]) =>
              value !== undefined && (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <code>{value}</code>
                  </dd>
                </div>
              ),
          )}
        </dl>
      )}
      <ul className={styles.stages}>
        {bars.map(({ stage, startMs, ms }) => (
          <li key={stage}>
            <span>{text.stages[stage]}</span>
            <span className={styles.track} aria-hidden="true">
              <span
                className={stage === 'wait' || stage === 'other' ? styles.wait : styles.work}
                style={{ insetInlineStart: percent(startMs), width: percent(ms) }}
              />
            </span>
            <span className={styles.ms}>{text.milliseconds(format.number(ms))}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Where the time of the last run went. */
function Parts({ parts }: { readonly parts: readonly Part[] }) {
  const text = useText(taskText)
  const format = useFormat()
  const total = Math.max(
    1,
    parts.reduce((sum, { ms }) => sum + ms, 0),
  )
  const kinds = (['wait', 'work', 'lost'] as const).filter((kind) => parts.some((part) => part.kind === kind))
  return (
    <div className={styles.parts}>
      <div className={styles.stretch} aria-hidden="true">
        {parts.map(({ id, kind, ms }) => (
          <span key={id} className={styles[kind]} style={{ flexGrow: ms / total }} />
        ))}
      </div>
      <ul>
        {kinds.map((kind) => (
          <li key={kind} className={styles[kind]}>
            {text.parts[kind]}{' '}
            <strong>
              {format.duration(parts.filter((part) => part.kind === kind).reduce((sum, { ms }) => sum + ms, 0))}
            </strong>
          </li>
        ))}
      </ul>
    </div>
  )
}
