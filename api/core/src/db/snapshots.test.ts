// SQL of the longest and most frequent statements, compiled into files for review and psql. A file without an entry
// below fails.
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cancelBatch } from '../batch/cancel-batch.ts'
import { insertChildren } from '../batch/create-batch.ts'
import { grantDuePlans } from '../credit/due/grant-plans.ts'
import { holdCredits } from '../credit/hold.ts'
import { holdCreditsEach } from '../credit/hold-batch.ts'
import { emptyBuckets } from '../latency.ts'
import { countRequests } from '../rate-windows.ts'
import { deleteOldTasks } from '../retention/delete-tasks.ts'
import { readHeldCredits } from '../sample/held-credits.ts'
import { findViolations, invariantNames } from '../sample/invariants.ts'
import { readPaymentLag } from '../sample/payment-lag.ts'
import { readRetentionLag, readTaskRetentionLag } from '../sample/retention-lag.ts'
import { readWaitingTasks } from '../sample/waiting-tasks.ts'
import { readDemand } from '../scale/demand-queries.ts'
import { recordInference } from '../scale/inference-queries.ts'
import { insertSingle } from '../task/insert-task.ts'
import { countTasks, listTasks } from '../task/list-tasks.ts'
import { cancelTask } from '../task/run/cancel-task.ts'
import { type ClaimedTask, claimNextTasks } from '../task/run/claim-task.ts'
import { finishTask } from '../task/run/finish-task.ts'
import { claimDueDeliveries } from '../webhook/claim-deliveries.ts'
import { createEventDeliveries } from '../webhook/create-deliveries.ts'
import { recoverDeliveries } from '../webhook/delivery/recover-deliveries.ts'
import { readDueState } from '../webhook/delivery-queries.ts'
import { recordAttempt } from '../webhook/end-attempt.ts'
import { readAttemptHours } from '../webhook/endpoint/attempt-hours.ts'
import { takeChildSlots } from '../workspace/limit/child-slots.ts'
import { takeSingleSlot } from '../workspace/limit/single-slot.ts'
import { defaultPlans, type Plan } from '../workspace/plan.ts'
import { prepare, type Sending, sentBy } from './snapshots.fixtures.ts'

const plans = defaultPlans
const plan = plans.pro as Plan
const workspaceId = 'workspace'
const common = {
  ...{ workspaceId, modelVersion: 'service-v2', callbackUrl: null, output: null, createdBy: null, traceparent: null },
}
const source = { uploadId: 'upload', objectKey: 'key', etag: 'etag', sizeBytes: 1 }
const single = { ...common, uploadId: 'u', sourceKey: 'key', sourceEtag: 'etag', sourceSizeBytes: 1, creditCost: 1 }
const claimed = { ...common, id: 'task', run: 1, claim: 'claim', attempt: 1, batchId: null } as unknown as ClaimedTask
const result = { resultKey: 'key', resultFormat: 'png', resultSizeBytes: 1, width: 1, height: 1, foreground: null }
const succeeded = { status: 'succeeded', ...result, confidence: 0.9 } as const
const position = { createdAtMicros: '1', id: 'task' }
const batch = { id: 'batch', workspace_id: workspaceId, total_count: 1, succeeded_count: 1, callback_url: null }
const ended = { id: 'task', run: 1, queued_at: new Date(0), completed_at: new Date(0) }
const lockedWorkspace = [{ id: workspaceId, plan: 'pro' }]
const old = { id: 'task', createdAt: new Date(0), uploadId: 'u', batchId: 'batch', resultKey: null, hasRun: true }
const window = { pool: 'one', revision: 'aaaaaaaa', done: 0, failed: 0, timedOut: 0, unavailable: 0, busySeconds: 0 }
const attempt = { statusCode: 200, durationMs: 1, responseBody: null, endedAgoMs: 0 }

/** Statements by file name: folder in `src`, then statement. */
const statements: Readonly<Record<string, Sending>> = {
  'batch/cancel-batch': {
    send: (db) => cancelBatch(db, workspaceId, 'batch'),
    answers: [[batch], lockedWorkspace, [batch], [ended], [], [{ ...batch, completedNow: true }]],
  },
  'batch/insert-children': {
    send: (db) => insertChildren(db, { ...common, batchId: 'batch', creditCost: 1 }, [source]),
  },
  'credit/grant-due-plans': {
    send: (db) => grantDuePlans(db, plans),
    answers: [[{ id: workspaceId }], lockedWorkspace, [{ start: new Date(0), end: new Date(1), subscribed: false }]],
  },
  'credit/hold-credits': {
    send: (db) => holdCredits(db, { workspaceId, userId: null, taskId: 'task', run: 1, amount: 1 }),
  },
  'credit/hold-credits-each': {
    send: (db) => holdCreditsEach(db, { workspaceId, userId: null, runs: [{ taskId: 'task', run: 1 }], amount: 1 }),
  },
  'workspace/count-requests': { send: (db) => countRequests(db, [{ subject: 'a', count: 1, limit: 1 }]) },
  'task/delete-old-tasks': {
    send: (db) => deleteOldTasks(db, plans),
    answers: [
      [
        { id: 'other', days: 30, at: 'at', oldest: null, isOld: false },
        { id: workspaceId, days: 30, at: 'at', oldest: 'oldest', isOld: true },
      ],
      ...[[], [], [], lockedWorkspace, [], [old]],
    ],
  },
  'sample/find-violations': { send: (db) => Promise.all(invariantNames.map((name) => findViolations(db, name))) },
  'sample/read-samples': {
    send: (db) =>
      Promise.all([
        readHeldCredits(db),
        readPaymentLag(db),
        readRetentionLag(db),
        readTaskRetentionLag(db, plans),
        readWaitingTasks(db, plans),
      ]),
  },
  'scale/read-demand': {
    send: (db) => readDemand(db, { plans, pools: [{ pool: 'one', modelVersions: ['service-v2'] }] }),
  },
  'scale/record-inference': {
    send: (db) => recordInference(db, 'replica', [{ ...window, latencyBuckets: emptyBuckets() }]),
  },
  'task/cancel-task': {
    send: (db) => cancelTask(db, workspaceId, 'task'),
    answers: [[{ id: 'task', run: 1, status: 'queued', batch_id: null }], [ended]],
  },
  'task/claim-next-tasks': {
    send: (db) => claimNextTasks(db, { models: ['service-v2'], limit: 4, plans, claimMs: 15_000 }),
    answers: [[{ id: null, more: false }]],
  },
  'task/fail-task': { send: (db) => finishTask(db, claimed, { status: 'failed', reason: 'INPUT_MISSING' }) },
  'task/insert-single': {
    send: (db) => insertSingle(db, plan, single),
  },
  'task/list-tasks': {
    send: async (db) => {
      const filter = { workspaceId, status: 'queued', from: new Date(0), before: new Date(1) } as const
      await listTasks(db, filter, { limit: 20, offset: 40 })
      await listTasks(db, filter, { limit: 20, offset: 0, after: position })
      await countTasks(db, filter)
    },
  },
  'task/succeed-child': {
    send: (db) => finishTask(db, { ...claimed, batchId: 'batch' }, succeeded),
    answers: [lockedWorkspace, [{ ...batch, completedNow: true }], [ended]],
  },
  'task/succeed-task': { send: (db) => finishTask(db, claimed, succeeded) },
  'webhook/claim-due-deliveries': {
    send: (db) =>
      claimDueDeliveries(db, { limit: 10, claimMs: 30_000, perTargetInFlight: 4, perWorkspaceInFlight: 16 }),
    answers: [[{ id: null, sawAll: true, waits: false }]],
  },
  'webhook/create-event-deliveries': {
    send: (db) =>
      createEventDeliveries(db, { workspaceId, event: 'e', body: '{}', callbackUrl: null, of: { key: 'key' } }),
  },
  'webhook/read-attempt-hours': { send: (db) => readAttemptHours(db, 'endpoint') },
  'webhook/read-due-state': { send: (db) => readDueState(db, 1_000) },
  'webhook/record-attempt': {
    send: (db) =>
      recordAttempt(
        db,
        { id: 'delivery', claim: 'claim', attempt: 2, scheduledAttempt: 2, endpointId: 'endpoint' },
        { ...attempt, error: null, policy: { retryUnitMs: 60_000, maxRetries: 12 } },
      ),
  },
  'webhook/recover-deliveries': {
    send: async (db) => {
      const recovery = { workspaceId, endpointId: 'endpoint', since: new Date(0) }
      await recoverDeliveries(db, { ...recovery, dryRun: true })
      await recoverDeliveries(db, { ...recovery, dryRun: false })
    },
    answers: [[{ status: 'enabled' }], [{ count: 1 }], [{ status: 'enabled' }]],
  },
  'workspace/take-child-slots': {
    send: (db) => takeChildSlots(db, { workspaceId, plan, size: 2 }),
    answers: [[], [{ openChildren: 100 }]],
  },
  'workspace/take-single-slot': {
    send: (db) => takeSingleSlot(db, workspaceId, plan),
    answers: [[], [{ busy: true, spent: false }]],
  },
}

const snapshotsDir = join(import.meta.dirname, 'snapshots')

describe('the SQL of', () => {
  it.each(Object.entries(statements))('%s', async (name, sending) => {
    await expect(await textOf(name, sending)).toMatchFileSnapshot(`${snapshotsDir}/${name}.sql`)
  })

  it('has no unused snapshot', () => {
    const files = globSync('**/*.*', { cwd: snapshotsDir })
    expect(files.filter((file) => !Object.hasOwn(statements, file.replace(/\.sql$/, '')))).toEqual([])
  })
})

/** For psql: run `execute name (…)` or `explain execute name (…)` afterwards. */
async function textOf(path: string, sending: Sending): Promise<string> {
  const sent = await sentBy(sending)
  const name = path.replace(/^.*\//, '').replaceAll('-', '_')
  return sent.map((sql, index) => prepare(sent.length === 1 ? name : `${name}_${index + 1}`, sql)).join('\n')
}
