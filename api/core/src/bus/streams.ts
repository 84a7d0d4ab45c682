// All subjects, streams and durables. `prefix` separates installations and test files on one server. A nudge only means
// *read the database now*, so lost, late and repeated ones are harmless.
import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

const day = 24 * 60 * 60 * 1e9 // nanoseconds, as in JetStream

export const subjects = {
  /** A version may contain dots, which are further tokens; `modelOf` reads them all. */
  task: (prefix: string, modelVersion: string) => `${prefix}.task.${modelVersion}`,
  delivery: (prefix: string) => `${prefix}.delivery`,
  fetch: (prefix: string) => `${prefix}.fetch`,
  /** No stream stores it: a listener that misses it reads the history later. */
  change: (prefix: string) => `${prefix}.change`,
  /** Requests in flight per pod, from workers to the operator (slot-report.ts). These messages are not stored. */
  slots: (prefix: string) => `${prefix}.slots`,
  deadLetter: (prefix: string, modelVersion: string) => `${prefix}.dead.${modelVersion}`,
} as const

export const modelOf = (subject: string): string => subject.split('.').slice(2).join('.')

export type StreamName = 'nudges' | 'dead-letters'

export const streamName = (prefix: string, name: StreamName): string => `${prefix}-${name}`

type StreamBasics = Pick<StreamConfig, 'name' | 'storage'>

type StreamOwner = { readonly prefix: string; readonly replicas: number }

/** Durables inherit the copies of their stream. */
export function streamConfig(owner: StreamOwner, name: StreamName): Partial<StreamConfig> & StreamBasics {
  const { prefix, replicas: num_replicas } = owner
  if (name === 'nudges') {
    return {
      name: streamName(prefix, name),
      num_replicas,
      subjects: [`${prefix}.task.>`, `${prefix}.delivery`, `${prefix}.fetch`],
      retention: RetentionPolicy.Workqueue,
      // A lost nudge costs a timer interval; file storage doubles the server's work.
      storage: StorageType.Memory,
      // Nudges above the number of slots add nothing, so the oldest are discarded. The task row holds the work.
      discard: DiscardPolicy.Old,
      max_msgs_per_subject: 256,
      max_age: day / 24,
    }
  }
  return {
    name: streamName(prefix, name),
    num_replicas,
    subjects: [`${prefix}.dead.>`],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.Old,
    max_age: 30 * day,
    max_bytes: 256 * 1_048_576,
    duplicate_window: 10 * 60 * 1e9,
  }
}

export type Durable = { readonly name: string; readonly filter: string }

export const durables = {
  taskNudges: (prefix: string): Durable => ({ name: 'controller', filter: `${prefix}.task.>` }),
  deliveryNudges: (prefix: string): Durable => ({ name: 'dispatcher', filter: `${prefix}.delivery` }),
  fetchNudges: (prefix: string): Durable => ({ name: 'dispatcher-fetches', filter: `${prefix}.fetch` }),
} as const
