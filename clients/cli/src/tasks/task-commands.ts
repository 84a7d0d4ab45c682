// matte tasks: list, get, cancel, retry, erase, download.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import type { Task } from 'matte-client'
import { integer, share, timeOrAgo } from '../arguments.ts'
import { usageError } from '../cli-error.ts'
import { extensionOf } from '../cut/plan.ts'
import { saveResult, writeStdout } from '../cut/save-result.ts'
import { defined } from '../defined.ts'
import { formatDuration, formatTime } from '../print/format.ts'
import type { Output } from '../print/output.ts'
import type { Column } from '../print/table.ts'
import { type CommonOptions, connect, withCommon } from '../session.ts'
import { printAll } from './print-all.ts'
import { take } from './take.ts'

const statuses = ['queued', 'processing', 'succeeded', 'failed', 'canceled'] as const

type ListOptions = CommonOptions & {
  readonly status?: (typeof statuses)[number]
  readonly since?: string
  readonly until?: string
  readonly minConfidence?: number
  readonly maxConfidence?: number
  readonly limit: number
  readonly all?: boolean
}

type DownloadOptions = CommonOptions & {
  readonly output?: string
  readonly out: string
  readonly overwrite?: boolean
}

const columns: readonly Column<Task>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'status', value: ({ status, failure }) => (failure ? `${status} (${failure.reason})` : status) },
  { title: 'created', value: ({ createdAt }) => formatTime(createdAt) },
  { title: 'took', value: ({ durationMs }) => (durationMs === undefined ? null : formatDuration(durationMs)) },
  { title: 'size', value: sizeOf },
  { title: 'confidence', value: ({ confidence }) => confidence?.toFixed(2) ?? null },
  { title: 'source', value: ({ sourceUrl }) => fileNameOf(sourceUrl) },
]

function sizeOf({ width, height, resultFormat }: Task): string | null {
  return width === null || height === null ? null : `${width}×${height} ${resultFormat ?? ''}`.trim()
}

/** Object keys are `private-uploads/2026/11/<uuid>-<file name>`. */
const fileNameOf = (objectKey: string): string =>
  objectKey.replace(/^.*\/(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-)?/, '')

export function addTaskCommands(program: Command): void {
  const tasks = program.command('tasks').description('list, cancel, retry, erase and download tasks')
  const add = (name: string, description: string): Command => withCommon(tasks.command(name).description(description))
  add('list', 'list tasks, newest first')
    .addOption(new Option('--status <status>', 'only tasks with this status').choices(statuses))
    .option('--since <time>', 'created at or after a date, a time, or a time ago such as 2h', (text) => timeOrAgo(text))
    .option('--until <time>', 'created until then', (text) => timeOrAgo(text))
    .option('--min-confidence <share>', 'only results with this confidence or more, 0 to 1', share)
    .option('--max-confidence <share>', 'only results with this confidence or less; 0.89 finds what to check', share)
    .option('-n, --limit <number>', 'at most this many', integer(1, 1_000_000), 20)
    .option('--all', 'all of them')
    .action(listTasks)
  add('get', 'show one task').argument('<id>').action(getTask)
  add('cancel', 'cancel queued tasks').argument('<id...>').action(cancelTasks)
  add('retry', 'retry failed tasks').argument('<id...>').action(retryTasks)
  add('erase', 'erase photo, result and previews of ended tasks, which cannot be undone')
    .argument('<id...>')
    .action(eraseTasks)
  add('download', 'download the results of succeeded tasks')
    .argument('<id...>')
    .option('-o, --output <file>', 'file of a single result; - for stdout')
    .option('--out <dir>', 'folder of the results, named by task id', '.')
    .option('--overwrite', 'replace files that exist')
    .action(downloadTasks)
}

async function listTasks(options: ListOptions): Promise<void> {
  const { status, since, until, minConfidence, maxConfidence, limit, all = false, ...common } = options
  const { matte, out } = await connect(common)
  const most = all ? Number.POSITIVE_INFINITY : limit
  const bounds = { startDate: since, endDate: until, minConfidence, maxConfidence }
  const query = defined({ status, ...bounds, pageSize: Math.min(100, most) })
  await printAll(take(matte.tasks.list(query), most), { out, columns, none: 'There are no such tasks.' })
}

async function getTask(id: string, common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  printTask(await matte.tasks.get(id), out)
}

function printTask(task: Task, out: Output): void {
  const { failure, completedAt, foreground } = task
  out.fields(task, [
    ['id', task.id],
    ['status', task.status],
    ...(failure === null ? [] : ([['failure', `${failure.reason}: ${failure.message}`]] as const)),
    ['model', task.modelVersion],
    ['source', task.sourceUrl],
    ['created', formatTime(task.createdAt)],
    ['completed', completedAt === null ? null : formatTime(completedAt)],
    ['took', task.durationMs === undefined ? null : formatDuration(task.durationMs)],
    ['size', sizeOf(task)],
    ['foreground', foreground === null ? null : describeBox(foreground)],
    ['confidence', task.confidence?.toFixed(2) ?? null],
    ['batch', task.batchId],
    ['callback', task.callbackUrl],
    ['retries', task.retryCount],
    ['result', task.resultUrl],
    ...(task.erasedAt ? ([['erased', formatTime(task.erasedAt)]] as const) : []),
  ])
}

const describeBox = ({ width, height, left, top }: NonNullable<Task['foreground']>): string =>
  `${width}×${height} at ${left},${top}`

async function cancelTasks(ids: readonly string[], common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  for (const id of ids) {
    const task = await matte.tasks.cancel(id)
    out.result(task, `${task.id} is canceled`)
  }
}

async function retryTasks(ids: readonly string[], common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  for (const id of ids) {
    const task = await matte.tasks.retry(id)
    out.result(task, `${task.id} is ${task.status} again`)
  }
}

async function eraseTasks(ids: readonly string[], common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  for (const id of ids) {
    const task = await matte.tasks.eraseImages(id)
    out.result(task, `the images of ${task.id} are erased`)
  }
}

async function downloadTasks(ids: readonly string[], options: DownloadOptions): Promise<void> {
  const { output, out: dir, overwrite = false, ...common } = options
  if (output !== undefined && ids.length > 1) {
    throw usageError(`-o names one file, but there are ${ids.length} tasks.`, 'Use --out with a folder.')
  }
  const { matte, out } = await connect(common)
  for (const id of ids) {
    const cutout = await matte.tasks.download(id)
    const bytes = await cutout.bytes()
    if (output === '-') return writeStdout(bytes)
    const format = cutout.task.resultFormat ?? 'png'
    const path = output ?? join(dir, `${cutout.taskId}.${extensionOf[format] ?? format}`)
    await mkdir(dir, { recursive: true })
    await saveResult(path, bytes, { overwrite })
    out.result({ taskId: cutout.taskId, output: path, sizeBytes: cutout.sizeBytes }, path)
  }
}
