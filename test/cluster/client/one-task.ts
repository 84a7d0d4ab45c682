// One image through the whole API: presign, upload, create, poll, download. The webhook arrives separately.
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { ask, type Call, Refused } from './calls.ts'
import { type Kind, kinds } from './kinds.ts'
import { currentPhase, write } from './log.ts'
import { withPlace } from './task-limit.ts'

type Grant = { readonly uploadUrl: string; readonly objectKey: string; readonly headers: Record<string, string> }
type Task = {
  readonly id: string
  readonly status: string
  readonly resultUrl: string | null
  readonly failure: { readonly reason: string } | null
}

const pollEveryMs = 300
const endsWithinMs = 600_000
const callbackUrl = process.env.CALLBACK_URL ?? ''

/** A call of the interface. */
export async function callApi<T>(
  op: string,
  path: string,
  options: Pick<Call, 'headers'> & { readonly body?: object } = {},
) {
  const { body, headers } = options
  const answer = await ask({
    op,
    method: body === undefined ? 'GET' : 'POST',
    path: `/api/v1/open/developer${path}`,
    headers: {
      'x-api-key': process.env.MATTE_API_KEY ?? '',
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: Buffer.from(JSON.stringify(body)) }),
  })
  return (JSON.parse(answer.body.toString()) as { data: T }).data
}

/** Runs one task and logs its outcome; never rejects. */
export async function doOne(key: string, kindName: string, slowlyMs?: number): Promise<void> {
  const kind = kinds[kindName]
  if (kind === undefined) throw new Error(`no kind ${kindName}`)
  write({ type: 'begun', key, kind: kindName })
  try {
    const objectKey = await upload(kind, slowlyMs)
    await withPlace(() => createAndFollow(key, objectKey, kind))
  } catch (error) {
    const expected = 'refusedWith' in kind.end ? kind.end.refusedWith : undefined
    if (error instanceof Refused && error.code === expected) write({ type: 'declined', key })
    else write({ type: 'gaveUp', key, error: error instanceof Error ? error.message : String(error) })
  }
}

async function upload({ file, contentType }: Kind, slowlyMs?: number): Promise<string> {
  const body = readFileSync(`/images/${file}`)
  const about = { fileName: file, contentType, fileSize: body.length }
  const grant = await callApi<Grant>('presign', '/uploads/presign', { body: about })
  const call = { method: 'PUT', ...addressOf(grant.uploadUrl, grant.headers), body } as const
  if (slowlyMs === undefined) await ask({ op: 'upload', ...call })
  else await uploadSlowly({ op: 'slow upload', ...call, sendForMs: slowlyMs })
  return grant.objectKey
}

/** Logs the phase of the upload's start and of its first cut. */
async function uploadSlowly(call: Call): Promise<void> {
  const began = currentPhase()
  let cut: string | null = null
  const onFailure = (): void => {
    cut ??= currentPhase()
  }
  await ask({ ...call, onFailure })
  write({ type: 'slow', began, cut })
}

/** Keeps the signed host in the header, because the URL may be unreachable from here. */
function addressOf(signedUrl: string, headers: Readonly<Record<string, string>> = {}) {
  const { host, pathname, search } = new URL(signedUrl)
  return { path: `${pathname}${search}`, headers: { ...headers, host } }
}

async function createAndFollow(key: string, imageUrl: string, kind: Kind): Promise<void> {
  const created = await callApi<Task>('create', '/tasks', {
    headers: { 'idempotency-key': key },
    body: { imageUrl, callbackUrl },
  })
  const { id } = created
  write({ type: 'accepted', key, id })
  const ended = await untilEnded(id)
  write({ type: 'ended', id, status: ended.status, reason: ended.failure?.reason ?? null })
  if (ended.resultUrl === null) return
  const { body } = await ask({ op: 'download', method: 'GET', ...addressOf(ended.resultUrl) })
  write({ type: 'result', id, problem: findProblem(body, kind) })
}

async function untilEnded(id: string): Promise<Task> {
  const deadline = performance.now() + endsWithinMs
  while (performance.now() < deadline) {
    const task = await callApi<Task>('read', `/tasks/${id}`)
    if (task.status !== 'queued' && task.status !== 'processing') return task
    await pause(pollEveryMs)
  }
  throw new Error(`task ${id} is open after ${endsWithinMs / 1_000} s`)
}

/** Whether this is a complete PNG of the image's size. */
function findProblem(png: Buffer, { size }: Kind): string | null {
  if (png.subarray(1, 4).toString('latin1') !== 'PNG') return 'no PNG'
  if (png.subarray(-8, -4).toString('latin1') !== 'IEND') return 'ends early'
  const found = [png.readUInt32BE(16), png.readUInt32BE(20)]
  return found.join() === size.join() ? null : `${found.join('×')} instead of ${size.join('×')}`
}
