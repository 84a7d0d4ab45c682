// The statements of a task's life and of its readers, called as the processes call them, on one connection.
import { listEntries } from '@matte/core/credit/list/ledger-queries'
import type { Db } from '@matte/core/db/database'
import type { ListPosition } from '@matte/core/db/page'
import { deleteOldTasks } from '@matte/core/retention/delete-tasks'
import { readDemand } from '@matte/core/scale/demand-queries'
import { createTask } from '@matte/core/task/create-task'
import { countTasks, listTasks } from '@matte/core/task/list-tasks'
import { type ClaimedTask, claimNextTasks } from '@matte/core/task/run/claim-task'
import { finishTask } from '@matte/core/task/run/finish-task'
import { findShownTask } from '@matte/core/task/task-queries'
import { insertGrant } from '@matte/core/upload/grant-queries'
import { readUsage } from '@matte/core/usage/read-usage'
import { type ClaimedDelivery, claimDueDeliveries } from '@matte/core/webhook/claim-deliveries'
import { readDueState } from '@matte/core/webhook/delivery-queries'
import { recordAttempt } from '@matte/core/webhook/end-attempt'
import { eraseAccount } from '@matte/people/identity/account/erase-account'
import { sql } from 'kysely'
import { memoryBucket } from '../../support/memory-bucket.ts'
import { addLeavers, measured } from './fill.ts'
import { delivered, onePixelPng, success } from './outcomes.ts'
import { benchPlan, masterKeys, plans } from './plan.ts'

/** Calls of each operation in a round. */
export const callsPerRound = 20
const erasuresPerRound = 3
const pageSize = 20
export const deepPage = 5_000
const offsetPage = 400

export type Operation = {
  readonly name: string
  /** False: its cost is stated, and grows by design. */
  readonly bounded: boolean
  readonly calls: readonly (() => Promise<unknown>)[]
}

/** Rows of a database that every round uses. */
export type Subject = {
  readonly db: Db
  readonly url: string
  readonly workspaceId: string
  readonly ids: readonly string[]
  readonly deep: ListPosition & { readonly page: number }
  readonly deepFailed: ListPosition
  readonly deepEntry: ListPosition
}

export async function findMeasured(db: Db): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    select id from workspace where id = ${sql.raw(measured)}`.execute(db)
  if (rows[0] === undefined) throw new Error('the database has no measured workspace')
  return rows[0].id
}

export async function findSubject(db: Db, url: string): Promise<Subject> {
  const workspaceId = await findMeasured(db)
  const { rows: ids } = await sql<{ id: string }>`
    select id from (select id from task where workspace_id = ${workspaceId} order by created_at desc limit 20000) t
     order by hashtext(id::text) limit 20`.execute(db)
  const position = async (table: string, at: string, skipped: number, matching = sql`true`) => {
    const { rows } = await sql<ListPosition>`
      select (extract(epoch from ${sql.ref(at)}) * 1000000)::bigint::text as "createdAtMicros", id::text as id
        from ${sql.table(table)} where workspace_id = ${workspaceId} and ${matching}
       order by ${sql.ref(at)} desc, id desc offset ${skipped} limit 1`.execute(db)
    return rows[0]
  }
  const { rows: counts } = await sql<{ count: number }>`
    select count(*) from task where workspace_id = ${workspaceId}`.execute(db)
  const pages = Math.min(deepPage, Math.floor((counts[0]?.count ?? 0) / pageSize) - 1)
  const deep = await position('task', 'created_at', (pages - 1) * pageSize)
  const deepEntry = await position('credit_entry', 'at', (pages - 1) * pageSize)
  // A full page of them follows on the empty database too.
  const deepFailed = await position('task', 'created_at', 5, sql`status = 'failed'`)
  if (deep === undefined || deepFailed === undefined || deepEntry === undefined)
    throw new Error('the measured workspace has too few tasks')
  return {
    db,
    url,
    workspaceId,
    ids: ids.map(({ id }) => id),
    deep: { ...deep, page: pages },
    deepFailed,
    deepEntry,
  }
}

let made = 0

/** The operations of a round, in an order in which each leaves what the next one takes. */
export async function* operationsOf(subject: Subject): AsyncGenerator<Operation> {
  const { db, workspaceId, ids, deep, deepFailed, deepEntry } = subject
  const bucket = memoryBucket()
  const times = <T>(count: number, call: (index: number) => Promise<T>): (() => Promise<T>)[] =>
    Array.from({ length: count }, (_none, index) => () => call(index))
  const repeated = <T>(call: (index: number) => Promise<T>) => times(callsPerRound, call)

  const keys: string[] = []
  for (let i = 0; i < callsPerRound; i++) {
    const objectKey = `private-uploads/2026/01/bench-${process.pid}-${Date.now()}-${made++}-photo.png`
    await insertGrant(db, { workspaceId, objectKey, contentType: 'image/png', expiresInSeconds: 900 })
    await bucket.put(objectKey, onePixelPng, { contentType: 'image/png' })
    keys.push(objectKey)
  }
  const post = (index: number) =>
    createTask(db, bucket, {
      workspaceId,
      plan: benchPlan,
      imageUrl: keys[index] ?? '',
      modelVersion: 'service-v2',
      callbackUrl: 'https://receiver.example.com/hooks/matte?tenant=42',
      traceparent: null,
    })
  yield { name: 'POST', bounded: true, calls: repeated(post) }
  const pools = [{ pool: 'default', modelVersions: ['service-v2'] }]
  yield { name: 'demand query', bounded: true, calls: repeated(() => readDemand(db, { plans, pools })) }
  const claimed: ClaimedTask[] = []
  const claim = async (): Promise<void> => {
    const claims = await claimNextTasks(db, { models: ['service-v2'], limit: 1, plans, claimMs: 600_000 })
    const task = claims.tasks[0]
    if (task === undefined) throw new Error('no task could be claimed')
    claimed.push(task)
  }
  yield { name: 'claim', bounded: true, calls: repeated(claim) }
  const end = async (index: number): Promise<void> => {
    const task = claimed[index]
    const ended = task && (await finishTask(db, task, success(task)))
    if (ended === undefined) throw new Error('the claim was lost')
  }
  yield { name: 'end of a run', bounded: true, calls: repeated(end) }
  const deliveries: ClaimedDelivery[] = []
  const due = async (): Promise<void> => {
    await readDueState(db, 33)
    const options = { limit: 1, claimMs: 600_000, perTargetInFlight: 100, perWorkspaceInFlight: 100 }
    const { deliveries: found } = await claimDueDeliveries(db, options)
    if (found.length !== 1) throw new Error(`${found.length} deliveries were claimed`)
    deliveries.push(...found)
  }
  yield { name: 'due deliveries', bounded: true, calls: repeated(due) }
  const attempted = async (index: number): Promise<void> => {
    const delivery = deliveries[index]
    if (delivery === undefined || (await recordAttempt(db, delivery, delivered)) !== 'delivered')
      throw new Error('the attempt was not recorded')
  }
  yield { name: 'end of an attempt', bounded: true, calls: repeated(attempted) }
  const get = async (index: number): Promise<void> => {
    const id = ids[(made + index) % ids.length] ?? ''
    if ((await findShownTask(db, workspaceId, id)) === undefined) throw new Error(`task ${id} was not found`)
  }
  yield { name: 'GET', bounded: true, calls: repeated(get) }
  const limit = pageSize + 1
  const list = (more: { status?: 'failed' }, range: { offset: number; after?: ListPosition }) =>
    repeated(() => listTasks(db, { workspaceId, ...more }, { limit, ...range }))
  yield { name: 'list, page 1', bounded: true, calls: list({}, { offset: 0 }) }
  yield { name: `list, page ${deepPage} by cursor`, bounded: true, calls: list({}, { offset: 0, after: deep }) }
  yield { name: 'filtered list', bounded: true, calls: list({ status: 'failed' }, { offset: 0 }) }
  yield {
    name: 'filtered list by cursor',
    bounded: true,
    calls: list({ status: 'failed' }, { offset: 0, after: deepFailed }),
  }
  const offset = Math.min(offsetPage - 1, deep.page - 1) * pageSize
  yield { name: `list, page ${offsetPage} by number`, bounded: false, calls: list({}, { offset }) }
  yield { name: 'count of a list', bounded: false, calls: repeated(() => countTasks(db, { workspaceId })) }
  const entries = (after?: ListPosition) =>
    repeated(() => listEntries(db, { workspaceId }, { limit, offset: 0, after }))
  yield { name: 'ledger, page 1', bounded: true, calls: entries() }
  yield { name: `ledger, page ${deepPage} by cursor`, bounded: true, calls: entries(deepEntry) }
  yield {
    name: 'ledger, grants only',
    bounded: true,
    calls: repeated(() => listEntries(db, { workspaceId, type: 'grant' }, { limit, offset: 0 })),
  }
  yield { name: 'usage', bounded: true, calls: repeated(() => readUsage(db, workspaceId, benchPlan)) }

  const leavers = await addLeavers(subject.url, `${Date.now()}`, erasuresPerRound)
  const erase = async (index: number): Promise<void> => {
    const userId = leavers[index]?.userId ?? ''
    await eraseAccount({ db, masterKeys, findSubscription: async () => undefined }, { userId, code: undefined })
  }
  yield { name: 'account erasure', bounded: true, calls: times(erasuresPerRound, erase) }
  const sweep = async (): Promise<void> => {
    const deleted = await deleteOldTasks(db, plans, {})
    if (deleted === 0) throw new Error('the sweep deleted nothing')
  }
  yield { name: 'retention sweep of 60 tasks', bounded: true, calls: [sweep] }
  yield { name: 'retention sweep, nothing to do', bounded: true, calls: [() => deleteOldTasks(db, plans, {})] }
}
