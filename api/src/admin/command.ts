import type { Audit } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import type { ProcessRole } from '@matte/core/db/roles/table-rights'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { CopyStore } from '@matte/core/storage/copy-objects'
import type { Plans } from '@matte/core/workspace/plan'
import type { PaymentDeps } from '@matte/people/payment/payment-deps'

/** Wrong arguments: printed with the usage of the command, exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** The command failed: printed without a stack, exit code 1. The message says what to do. */
export class CommandError extends Error {
  override name = 'CommandError'
}

/** Object of a change. */
export type Changed = {
  /** Workspace whose log gets the entry; with `userId` it is the personal workspace of the user. */
  readonly workspaceId?: string | null
  readonly userId?: string
  readonly target?: string | null
}

export type CommandDeps = {
  readonly db: Db
  /** Commits a change with its entry in the audit log, or neither. */
  readonly change: <T>(of: Changed | ((result: T) => Changed), run: (tx: Db) => Promise<T>) => Promise<T>
  /** For functions with several transactions. */
  readonly auditOf: (of: Changed) => Audit
  readonly plans: Plans
  readonly production: boolean
  readonly accountsEnabled: boolean
  readonly publicUrl: string | undefined
  readonly maxQueueAgeMs: number
  readonly auditRetentionDays: number
  readonly sessionIdleHours: number
  readonly store: CopyStore | undefined
  readonly toStore: CopyStore | undefined
  readonly masterKeys: MasterKeys | undefined
  readonly roleUrls: Partial<Record<ProcessRole, string>>
  /** @throws ConfigError when the payment settings contradict each other */
  readonly payments: () => Promise<PaymentDeps>
}

export type Given = {
  readonly values: Readonly<Record<string, string | undefined>>
  readonly yes: boolean
  readonly words: readonly string[]
}

export type Command = {
  readonly name: string
  /** Arguments; names every option that the command accepts. */
  readonly usage: string
  readonly summary: string
  /** The command changes something: it leaves an entry in the audit log and accepts `--reason TEXT`. */
  readonly changes?: true
  /** Runs without waiting for the database and without migrating it. */
  readonly withoutDatabase?: true
  /** Without `--json`, only this field is printed, unchanged. */
  readonly plain?: string
} & (
  | {
      /** Returns the output: one object with `--json`, else one line per field. */
      readonly run: (deps: CommandDeps, given: Given) => Promise<Readonly<Record<string, unknown>>>
    }
  | {
      /** Objects that are printed one a line as JSON while they are read. */
      readonly stream: (deps: CommandDeps, given: Given) => AsyncIterable<object>
    }
)
