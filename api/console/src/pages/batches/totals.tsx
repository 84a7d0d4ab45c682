import { useFormat } from '../../text/format.ts'
import styles from './batches.module.css'

export type Total = {
  readonly name: string
  readonly count: number
  readonly tone: 'good' | 'bad' | 'warn' | 'active' | 'neutral'
}

type TotalsProps = { readonly label: string; readonly total: number; readonly parts: readonly Total[] }

/** A bar of parts with their numbers below. */
export function Totals({ label, total, parts }: TotalsProps) {
  const format = useFormat()
  return (
    <div className={styles.totals}>
      <p className={styles.label}>{label}</p>
      <div className={styles.bar} aria-hidden="true">
        {parts.map(({ name, count, tone }) => (
          <span key={name} className={styles[tone]} style={{ width: `${(count / Math.max(1, total)) * 100}%` }} />
        ))}
      </div>
      <dl>
        {parts.map(({ name, count, tone }) => (
          <div key={name} className={styles[tone]}>
            <dt>{name}</dt>
            <dd>{format.number(count)}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}
