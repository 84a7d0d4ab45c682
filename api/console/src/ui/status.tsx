import type { TaskStatus } from 'matte-client'
import { useText } from '../text/text.ts'
import styles from './status.module.css'
import { uiText } from './ui-text.ts'

type Tone = 'neutral' | 'active' | 'good' | 'warn' | 'bad'

type BadgeProps = { readonly tone?: Tone; readonly children: string | number }

/** A short state. The words carry the meaning; the colour only repeats it. */
export const Badge = ({ tone = 'neutral', children }: BadgeProps) => (
  <span className={`${styles.badge} ${styles[tone]}`}>{children}</span>
)

const tones: Readonly<Record<TaskStatus, Tone>> = {
  queued: 'neutral',
  processing: 'active',
  succeeded: 'good',
  failed: 'bad',
  canceled: 'warn',
}

export function TaskBadge({ status }: { readonly status: TaskStatus }) {
  const text = useText(uiText)
  return <Badge tone={tones[status]}>{text.status[status]}</Badge>
}
