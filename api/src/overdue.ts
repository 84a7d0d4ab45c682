// Work that falls due at a time, with the age of the oldest and the page that says what to do.
import type { Db } from '@matte/core/db/database'
import { readLapsedClaimSeconds } from '@matte/core/sample/load'
import { readPaymentLag } from '@matte/core/sample/payment-lag'
import { readRetentionLag, readTaskRetentionLag } from '@matte/core/sample/retention-lag'
import { readWaitingTasks } from '@matte/core/sample/waiting-tasks'
import { readDueState } from '@matte/core/webhook/delivery-queries'
import type { Plans } from '@matte/core/workspace/plan'
import { readMailAgeMs } from '@matte/people/mail/mail-queue'

export const dueKinds = [
  ...(['tasks', 'claims', 'deliveries', 'mails', 'uploadRetention', 'objectRetention'] as const),
  ...(['creditExpiry', 'taskRetention', 'orderChecks', 'subscriptionChecks', 'refunds', 'disputeChecks'] as const),
] as const

type DueKind = (typeof dueKinds)[number]

/** Pages in charts/matte/runbooks, and the defaults of the chart's thresholds. */
const limits: Readonly<Record<DueKind, { readonly lateAfterSeconds: number; readonly runbook: string }>> = {
  tasks: { lateAfterSeconds: 3_600, runbook: 'MatteTasksWaiting' },
  // A worker takes a lapsed claim within seconds.
  claims: { lateAfterSeconds: 60, runbook: 'MatteClaimsFailing' },
  deliveries: { lateAfterSeconds: 1_800, runbook: 'MatteDeliveriesOverdue' },
  mails: { lateAfterSeconds: 1_800, runbook: 'MatteMailsWaiting' },
  uploadRetention: { lateAfterSeconds: 21_600, runbook: 'MatteRetentionLate' },
  objectRetention: { lateAfterSeconds: 21_600, runbook: 'MatteRetentionLate' },
  creditExpiry: { lateAfterSeconds: 21_600, runbook: 'MatteRetentionLate' },
  taskRetention: { lateAfterSeconds: 21_600, runbook: 'MatteRetentionLate' },
  orderChecks: { lateAfterSeconds: 86_400, runbook: 'MattePaymentsOverdue' },
  subscriptionChecks: { lateAfterSeconds: 86_400, runbook: 'MattePaymentsOverdue' },
  refunds: { lateAfterSeconds: 86_400, runbook: 'MattePaymentsOverdue' },
  disputeChecks: { lateAfterSeconds: 86_400, runbook: 'MattePaymentsOverdue' },
}

export type DueItem = {
  readonly what: DueKind
  readonly ageSeconds: number
  readonly lateAfterSeconds: number
  readonly isLate: boolean
  /** Number of due items; null: not counted. */
  readonly waiting: number | null
  readonly runbook: string
}

const deliveriesMax = 10_000

const retentionKinds = {
  uploads: 'uploadRetention',
  objects: 'objectRetention',
  credits: 'creditExpiry',
  tasks: 'taskRetention',
} as const
const paymentKinds = {
  order: 'orderChecks',
  subscription: 'subscriptionChecks',
  refund: 'refunds',
  dispute: 'disputeChecks',
} as const

/** Every kind, also those with nothing due. */
export async function readDueItems(db: Db, plans: Plans): Promise<DueItem[]> {
  const found = new Map<DueKind, { readonly ageSeconds: number; readonly waiting?: number }>()
  const tasks = await readWaitingTasks(db, plans)
  found.set('tasks', {
    ageSeconds: Math.max(0, ...tasks.map(({ oldestSeconds }) => oldestSeconds)),
    waiting: tasks.reduce((sum, { waiting }) => sum + waiting, 0),
  })
  found.set('claims', { ageSeconds: await readLapsedClaimSeconds(db) })
  const { waiting, oldestDueAgeMs } = await readDueState(db, deliveriesMax)
  found.set('deliveries', { ageSeconds: oldestDueAgeMs / 1_000, waiting })
  found.set('mails', { ageSeconds: (await readMailAgeMs(db)) / 1_000 })
  for (const { what, seconds } of await readRetentionLag(db)) found.set(retentionKinds[what], { ageSeconds: seconds })
  for (const { what, seconds } of await readTaskRetentionLag(db, plans))
    found.set(retentionKinds[what], { ageSeconds: seconds })
  for (const { what, seconds } of await readPaymentLag(db)) found.set(paymentKinds[what], { ageSeconds: seconds })
  return dueKinds.map((what) => toItem(what, found.get(what)))
}

function toItem(what: DueKind, found: { readonly ageSeconds: number; readonly waiting?: number } | undefined): DueItem {
  const { lateAfterSeconds, runbook } = limits[what]
  const ageSeconds = Math.round(found?.ageSeconds ?? 0)
  const isLate = ageSeconds > lateAfterSeconds
  return { what, ageSeconds, lateAfterSeconds, isLate, waiting: found?.waiting ?? null, runbook }
}
