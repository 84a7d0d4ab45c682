// matte batches: list, get, cancel.
import type { Command } from 'commander'
import type { Batch, BatchSummary } from 'matte-client'
import { integer } from '../arguments.ts'
import { formatTime } from '../print/format.ts'
import type { Output } from '../print/output.ts'
import type { Column } from '../print/table.ts'
import { type CommonOptions, connect, withCommon } from '../session.ts'
import { printAll } from './print-all.ts'
import { take } from './take.ts'

type ListOptions = CommonOptions & { readonly limit: number; readonly all?: boolean }

const columns: readonly Column<BatchSummary>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'status', value: ({ status }) => status },
  { title: 'images', value: ({ totalCount }) => totalCount },
  { title: 'succeeded', value: ({ succeededCount }) => succeededCount },
  { title: 'failed', value: ({ failedCount }) => failedCount },
  { title: 'canceled', value: ({ canceledCount }) => canceledCount },
  { title: 'created', value: ({ createdAt }) => formatTime(createdAt) },
]

export function addBatchCommands(program: Command): void {
  const batches = program.command('batches').description('list, show and cancel batches')
  withCommon(batches.command('list').description('list batches, newest first'))
    .option('-n, --limit <number>', 'at most this many', integer(1, 1_000_000), 20)
    .option('--all', 'all of them')
    .action(listBatches)
  withCommon(batches.command('get').description('show one batch and its tasks')).argument('<id>').action(getBatch)
  withCommon(batches.command('cancel').description('cancel the tasks of a batch that are still queued'))
    .argument('<id>')
    .action(cancelBatch)
}

async function listBatches({ limit, all = false, ...common }: ListOptions): Promise<void> {
  const { matte, out } = await connect(common)
  const most = all ? Number.POSITIVE_INFINITY : limit
  const batches = matte.batches.list({ pageSize: Math.min(100, most) })
  await printAll(take(batches, most), { out, columns, none: 'There are no batches.' })
}

async function getBatch(id: string, common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  printBatch(await matte.batches.get(id), out)
}

async function cancelBatch(id: string, common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  printBatch(await matte.batches.cancel(id), out)
}

function printBatch(batch: Batch, out: Output): void {
  out.fields(batch, [
    ['id', batch.id],
    ['status', batch.status],
    ['images', batch.totalCount],
    ['succeeded', batch.succeededCount],
    ['failed', batch.failedCount],
    ['canceled', batch.canceledCount],
    ['model', batch.modelVersion],
    ['created', formatTime(batch.createdAt)],
    ['completed', batch.completedAt === null ? null : formatTime(batch.completedAt)],
  ])
  if (out.json) return
  out.line('')
  out.table(
    batch.tasks,
    [
      { title: 'task', value: ({ id }) => id },
      { title: 'status', value: ({ status, failure }) => (failure ? `${status} (${failure.reason})` : status) },
      { title: 'source', value: ({ sourceUrl }) => sourceUrl },
    ],
    '',
  )
}
