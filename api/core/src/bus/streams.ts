// Every subject, stream and durable, declared once. `prefix` keeps installations (and test files) on one server
// apart. A nudge says *read the database now* and nothing more, so a lost, late or repeated one changes no outcome.
import type { StreamConfig } from '@nats-io/jetstream'
import { DiscardPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream'

const day = 24 * 60 * 60 * 1e9 // nanoseconds, as JetStream counts

export const subjects = {
  /** A name may hold dots, which are further tokens; `modelOf` takes them all. */
  task: (prefix: string, modelVersion: string) => `${prefix}.task.${modelVersion}`,
  delivery: (prefix: string) => `${prefix}.delivery`,
  /** No stream stores it: whoever does not listen now reads the history later anyhow. */
  change: (prefix: string) => `${prefix}.change`,
  /** Requests in flight by pod, from the workers to the operator (slot-report.ts). No stream stores it either. */
  slots: (prefix: string) => `${prefix}.slots`,
  deadLetter: (prefix: string, modelVersion: string) => `${prefix}.dead.${modelVersion}`,
} as const

export const modelOf = (subject: string): string => subject.split('.').slice(2).join('.')

export type StreamName = 'nudges' | 'dead-letters'

export const streamName = (prefix: string, name: StreamName): string => `${prefix}-${name}`

type StreamBasics = Pick<StreamConfig, 'name' | 'storage'>

export function streamConfig(prefix: string, name: StreamName): Partial<StreamConfig> & StreamBasics {
  if (name === 'nudges') {
    return {
      name: streamName(prefix, name),
      subjects: [`${prefix}.task.>`, `${prefix}.delivery`],
      retention: RetentionPolicy.Workqueue,
      // A nudge that is lost costs a wait for the timer; one in a file costs the server twice the work.
      storage: StorageType.Memory,
      // More waiting nudges for one model than anyone has slots say nothing new, so the oldest goes. For work
      // that is nowhere else this would be wrong; the row is the truth here.
      discard: DiscardPolicy.Old,
      max_msgs_per_subject: 256,
      max_age: day / 24,
    }
  }
  return {
    name: streamName(prefix, name),
    subjects: [`${prefix}.dead.>`],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.Old,
    max_age: 30 * day,
    max_bytes: 256 * 1_048_576,
    duplicate_window: 10 * 60 * 1e9,
  }
}
