import type { Db } from '@matte/core/db/database'
import type { ProcessRole } from '@matte/core/db/roles/table-rights'
import type { PaymentDeps } from '@matte/core/payment/payment-deps'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { CopyStore } from '@matte/core/storage/copy-objects'
import type { Plans } from '@matte/core/workspace/plan'

/** What the caller typed wrong; printed with the command's usage, exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** What the command could not do; printed as it is, exit code 1. The message says what to do. */
export class CommandError extends Error {
  override name = 'CommandError'
}

export type CommandDeps = {
  readonly db: Db
  readonly plans: Plans
  readonly production: boolean
  readonly maxQueueAgeMs: number
  readonly auditRetentionDays: number
  /** The object store, when its settings are given, and the one to copy to. */
  readonly store: CopyStore | undefined
  readonly toStore: CopyStore | undefined
  readonly masterKeys: MasterKeys | undefined
  /** URLs that the processes connect by, as far as they are given. */
  readonly roleUrls: Partial<Record<ProcessRole, string>>
  /** @throws ConfigError when their settings do not go together */
  readonly payments: () => Promise<PaymentDeps>
}

/** Values of `--name value` options by name, `--yes`, and the words that follow the command's own. */
export type Given = {
  readonly values: Readonly<Record<string, string | undefined>>
  readonly yes: boolean
  readonly words: readonly string[]
}

export type Command = {
  /** The words that select it, such as `workspace create`. */
  readonly name: string
  /** What follows them, for the usage text. */
  readonly usage: string
  readonly summary: string
  readonly options: readonly string[]
  /** It does something that cannot be undone, which `--yes` confirms. */
  readonly takesYes?: true
  /** It asks no database: neither is one waited for, nor brought up to date. */
  readonly withoutDatabase?: true
  /** Without `--json` this field of the result is printed alone, as it is. */
  readonly plain?: string
  /** Returns what is printed: with `--json` as one object, else a line per field. */
  readonly run: (deps: CommandDeps, given: Given) => Promise<Readonly<Record<string, unknown>>>
}
