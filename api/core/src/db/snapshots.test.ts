// The SQL that the functions of this package send, as files to read, review and paste into psql. The list below is
// checked from both ends: a snapshot without a statement fails, and so does a long statement without a snapshot.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cancelBatch } from '../batch/cancel-batch.ts'
import { insertChildren } from '../batch/insert-batch.ts'
import { countBatches, listBatches } from '../batch/list-batches.ts'
import { takeKey } from '../idempotency/idempotency-queries.ts'
import { replaceModels } from '../model/model-queries.ts'
import { tellingStatements } from '../notification/snapshots.fixtures.ts'
import { countRequests } from '../rate-limit/rate-window-queries.ts'
import { announceCleanups } from '../retention/announce-cleanup.ts'
import { deleteDueObjects } from '../retention/delete-objects.ts'
import { deleteOldTasks } from '../retention/delete-tasks.ts'
import { releaseUnusedUploads } from '../retention/release-uploads.ts'
import { readHeldCredits } from '../sample/held-credits.ts'
import { findViolations, invariantNames } from '../sample/invariants.ts'
import { readPaymentLag } from '../sample/payment-lag.ts'
import { readRetentionLag, readTaskRetentionLag } from '../sample/retention-lag.ts'
import { readWaitingTasks } from '../sample/waiting-tasks.ts'
import { readDemand } from '../scale/demand-queries.ts'
import { recordInference } from '../scale/inference-queries.ts'
import { emptyBuckets } from '../scale/latency.ts'
import { listTaskEvents } from '../task/history/list-task-events.ts'
import { readChanges } from '../task/history/read-changes.ts'
import { insertSingle } from '../task/insert-task.ts'
import { countTasks, listTasks } from '../task/list-tasks.ts'
import { requeueTask } from '../task/requeue-task.ts'
import { cancelTask } from '../task/run/cancel-task.ts'
import { type ClaimedTask, claimNextTask } from '../task/run/claim-task.ts'
import { failAttempt, finishTask } from '../task/run/finish-task.ts'
import { handOverDeadLetters } from '../task/run/hand-over-dead-letters.ts'
import { sweepTasks } from '../task/run/sweep-tasks.ts'
import type { TaskRow } from '../task/task-queries.ts'
import { insertGrant } from '../upload/grant-queries.ts'
import { addRequests } from '../usage/add-requests.ts'
import { readUsage } from '../usage/read-usage.ts'
import { claimDueDeliveries } from '../webhook/claim-deliveries.ts'
import { createEventDeliveries } from '../webhook/create-deliveries.ts'
import { countDeliveries, listDeliveries } from '../webhook/delivery/list-deliveries.ts'
import { recoverDeliveries } from '../webhook/delivery/recover-deliveries.ts'
import { redeliver } from '../webhook/delivery/redeliver.ts'
import { endpointStatements } from '../webhook/delivery/snapshots.fixtures.ts'
import { readDueState } from '../webhook/delivery-queries.ts'
import { recordAttempt } from '../webhook/end-attempt.ts'
import { deleteEndpoints } from '../webhook/endpoint/delete-endpoints.ts'
import { listApiKeys } from '../workspace/api-key-queries.ts'
import { takeChildSlots } from '../workspace/limit/child-slots.ts'
import { takeSingleSlot } from '../workspace/limit/single-slot.ts'
import { defaultPlans, type Plan } from '../workspace/plan.ts'
import { missingPrivileges } from './roles/missing-privileges.ts'
import { creditStatements } from './snapshots.credit.fixtures.ts'
import { prepare, type Sending, sentBy, templatesOf } from './snapshots.fixtures.ts'
import { peopleStatements } from './snapshots.people.fixtures.ts'

/** From so many lines on a statement has a snapshot. */
const longStatementLines = 6

const plans = defaultPlans
const plan = plans.pro as Plan
const workspaceId = 'workspace'
const keyed = { method: 'POST', path: '/', key: 'key', bodyHash: Buffer.alloc(32) }
const common = {
  ...{ workspaceId, modelVersion: 'service-v2', callbackUrl: null, output: null, createdBy: null, traceparent: null },
}
const source = { uploadId: 'upload', objectKey: 'key', etag: 'etag', sizeBytes: 1 }
const single = { ...common, uploadId: 'u', sourceKey: 'key', sourceEtag: 'etag', sourceSizeBytes: 1, creditCost: 1 }
const claimed = { ...common, id: 'task', run: 1, claim: 'claim', attempt: 1, batchId: null } as unknown as ClaimedTask
const result = { resultKey: 'key', resultFormat: 'png', resultSizeBytes: 1, width: 1, height: 1, foreground: null }
const succeeded = { status: 'succeeded', ...result } as const
const position = { createdAtMicros: '1', id: 'task' }
const batch = { id: 'batch', workspace_id: workspaceId, total_count: 1, succeeded_count: 1, callback_url: null }
const ended = { id: 'task', run: 1, queued_at: new Date(0), completed_at: new Date(0) }
const lockedWorkspace = [{ id: workspaceId, plan: 'pro' }]
const old = { id: 'task', createdAt: new Date(0), uploadId: 'u', batchId: 'batch', resultKey: null, hasRun: true }
const window = { pool: 'one', revision: 'aaaaaaaa', done: 0, failed: 0, timedOut: 0, unavailable: 0, busySeconds: 0 }
const attempt = { statusCode: 200, durationMs: 1, responseBody: null, endedAgoMs: 0 }

/** Every snapshot by its file's name: folder as in `src`, then what the statements do. */
const statements: Readonly<Record<string, Sending>> = {
  ...peopleStatements,
  'batch/cancel-batch': {
    send: (db) => cancelBatch(db, workspaceId, 'batch'),
    answers: [[batch], lockedWorkspace, [batch], [ended], [], [{ ...batch, completedNow: true }]],
  },
  'batch/insert-children': {
    send: (db) => insertChildren(db, { ...common, batchId: 'batch', creditCost: 1 }, [source]),
  },
  'batch/list-batches': {
    send: async (db) => {
      await listBatches(db, workspaceId, { limit: 20, offset: 40 })
      await listBatches(db, workspaceId, { limit: 20, offset: 0, after: position })
      await countBatches(db, workspaceId)
    },
  },
  'db/missing-privileges': { send: (db) => missingPrivileges(db, ['operator']) },
  'idempotency/take-key': {
    send: (db) => takeKey(db, { ...keyed, owner: { workspaceId } }),
  },
  'idempotency/take-personal-key': { send: (db) => takeKey(db, { ...keyed, owner: { userId: 'person' } }) },
  'model/replace-models': {
    send: (db) => replaceModels(db, [{ name: 'a', pool: 'a', tritonModel: 'a', isDefault: true }]),
  },
  ...tellingStatements,
  'rate-limit/count-requests': { send: (db) => countRequests(db, [{ subject: 'a', count: 1, limit: 1 }]) },
  ...creditStatements,
  'retention/announce-cleanups': {
    send: (db) => announceCleanups(db, plans),
    answers: [[{ workspace_id: workspaceId }], lockedWorkspace, [{ count: 1, day: '2026-11-21' }]],
  },
  'retention/delete-due-objects': {
    send: (db) => deleteDueObjects(db, { delete: async () => undefined, list: async () => [] }),
    answers: [[{ key: 'key' }]],
  },
  'retention/delete-old-tasks': {
    send: (db) => deleteOldTasks(db, plans),
    answers: [[{ id: workspaceId, days: 30 }], [], [], lockedWorkspace, [], [old]],
  },
  'retention/release-unused-uploads': { send: (db) => releaseUnusedUploads(db) },
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
  'task/claim-next-task': {
    send: (db) => claimNextTask(db, { models: ['service-v2'], plans, claimMs: 15_000 }),
    answers: [[{ id: null, again: false }]],
  },
  'task/fail-attempt': { send: (db) => failAttempt(db, claimed, 'INFERENCE_ERROR') },
  'task/fail-task': { send: (db) => finishTask(db, claimed, { status: 'failed', reason: 'INPUT_MISSING' }) },
  'task/hand-over-dead-letters': {
    send: (db) => handOverDeadLetters(db, async () => undefined),
    answers: [[{ id: 'task', run: 1 }]],
  },
  'task/insert-single': {
    send: (db) => insertSingle(db, plan, single),
  },
  'task/history/list-task-events': {
    send: (db) => listTaskEvents(db, { workspaceId, taskId: 'task', runs: 'current' }),
  },
  'task/history/read-changes': {
    send: (db) => readChanges(db, [{ workspaceId, after: 1 }], 200),
  },
  'task/list-tasks': {
    send: async (db) => {
      const filter = { workspaceId, status: 'queued', from: new Date(0), before: new Date(1) } as const
      await listTasks(db, filter, { limit: 20, offset: 40 })
      await listTasks(db, filter, { limit: 20, offset: 0, after: position })
      await countTasks(db, filter)
    },
  },
  'task/requeue-task': {
    send: (db) =>
      requeueTask(db, { id: 'task', run: 1, upload_id: 'upload' } as TaskRow, {
        ...source,
        traceparent: null,
      }),
  },
  'task/succeed-child': {
    send: (db) => finishTask(db, { ...claimed, batchId: 'batch' }, succeeded),
    answers: [lockedWorkspace, [{ ...batch, completedNow: true }], [ended]],
  },
  'task/succeed-task': { send: (db) => finishTask(db, claimed, succeeded) },
  'task/sweep-tasks': { send: (db) => sweepTasks(db, { maxQueueAgeMs: 1 }) },
  'upload/insert-grant': {
    send: (db) => insertGrant(db, { workspaceId, objectKey: 'key', contentType: 'image/png', expiresInSeconds: 900 }),
  },
  'usage/add-requests': { send: (db) => addRequests(db, new Map([[workspaceId, 1]])) },
  'usage/read-usage': {
    send: (db) => readUsage(db, workspaceId, plan),
    answers: [[{ start: new Date(0), end: new Date(1), quotaUsed: 0 }]],
  },
  'webhook/claim-due-deliveries': {
    send: (db) =>
      claimDueDeliveries(db, { limit: 10, claimMs: 30_000, perTargetInFlight: 4, perWorkspaceInFlight: 16 }),
    answers: [[], [{ id: workspaceId, sawAll: true }]],
  },
  'webhook/create-event-deliveries': {
    send: (db) =>
      createEventDeliveries(db, { workspaceId, event: 'e', body: '{}', callbackUrl: null, of: { key: 'key' } }),
  },
  ...endpointStatements,
  'webhook/delete-endpoints': { send: (db) => deleteEndpoints(db, workspaceId) },
  'webhook/list-deliveries': {
    send: async (db) => {
      const filter = { workspaceId, endpointId: 'endpoint', status: 'exhausted', event: 'e' } as const
      await listDeliveries(db, filter, { limit: 20, offset: 0, after: position })
      await listDeliveries(db, { workspaceId, endpointId: null }, { limit: 20, offset: 40 })
      await countDeliveries(db, filter)
    },
    answers: [[{ id: 'delivery' }]],
  },
  'webhook/recover-deliveries': {
    send: async (db) => {
      const recovery = { workspaceId, endpointId: 'endpoint', since: new Date(0) }
      await recoverDeliveries(db, { ...recovery, dryRun: true })
      await recoverDeliveries(db, { ...recovery, dryRun: false })
    },
    answers: [[{ status: 'enabled' }], [{ count: 1 }], [{ status: 'enabled' }]],
  },
  'webhook/redeliver': {
    send: (db) => redeliver(db, { workspaceId, id: 'delivery' }),
    answers: [lockedWorkspace, [{ status: 'delivered', isClaimed: false, isOvertaken: false }]],
  },
  'webhook/read-due-state': { send: (db) => readDueState(db, 1_000) },
  'webhook/record-attempt': {
    send: (db) =>
      recordAttempt(
        db,
        { id: 'delivery', claim: 'claim', attempt: 1, scheduledAttempt: 1 },
        { ...attempt, error: null, policy: { retryUnitMs: 60_000, maxRetries: 12 } },
      ),
  },
  'workspace/list-api-keys': { send: (db) => listApiKeys(db, workspaceId) },
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

  it('nothing else has a snapshot', () => {
    const files = globSync('**/*.*', { cwd: snapshotsDir })
    expect(files.filter((file) => !Object.hasOwn(statements, file.replace(/\.sql$/, '')))).toEqual([])
  })

  it(`every template of ${longStatementLines} lines or more has one`, async () => {
    const texts = await Promise.all(Object.entries(statements).map(([name, sending]) => textOf(name, sending)))
    const shown = texts.join('\n')
    const sources = globSync(join(import.meta.dirname, '../**/*.ts')).filter((file) => !file.endsWith('.test.ts'))
    const templates = sources.flatMap((file) => templatesOf(readFileSync(file, 'utf8')))
    const long = templates.filter((lines) => lines.length >= longStatementLines)
    // A line with a value in it reads otherwise once it is compiled.
    expect(long.flat().filter((line) => !line.includes('$') && !shown.includes(line))).toEqual([])
    expect(long.length).toBeGreaterThan(30)
  })
})

/** The statements as psql takes them; `execute name (…)` or `explain execute name (…)` then gives them values. */
async function textOf(path: string, sending: Sending): Promise<string> {
  const sent = await sentBy(sending)
  const name = path.replace(/^.*\//, '').replaceAll('-', '_')
  return sent.map((sql, index) => prepare(sent.length === 1 ? name : `${name}_${index + 1}`, sql)).join('\n')
}
