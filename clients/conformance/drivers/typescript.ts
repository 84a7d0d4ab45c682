// Runs calls of the TypeScript client that arrive as lines of JSON on standard input; see support/driver.ts.
import { createHash } from 'node:crypto'
import { createInterface } from 'node:readline'
import { type Cutout, Matte, MatteError } from 'matte-client'
import type { Call, ClientOptions, Failure, Outcome, Result } from '../support/driver.ts'

type Line = { readonly id: number; readonly client: ClientOptions; readonly call: Call; readonly abort?: true }

const aborts = new Map<number, AbortController>()

createInterface({ input: process.stdin })
  .on('line', (text) => {
    const line = JSON.parse(text) as Line
    if (line.abort) aborts.get(line.id)?.abort()
    else void answer(line)
  })
  .on('close', () => process.exit())

async function answer({ id, client, call }: Line): Promise<void> {
  const aborting = new AbortController()
  aborts.set(id, aborting)
  const outcome = await run(client, call, aborting.signal).catch((error: unknown) => ({ error: describeError(error) }))
  process.stdout.write(`${JSON.stringify({ id, ...outcome })}\n`)
}

async function run(options: ClientOptions, call: Call, signal: AbortSignal): Promise<Outcome> {
  const matte = new Matte(options)
  switch (call.name) {
    case 'verify':
      return verify(matte, call)
    case 'removeBackground':
      return { results: [await describeCutout(await matte.removeBackground(call.path, { ...call.options, signal }))] }
    case 'download':
      return { results: [await describeCutout(await matte.tasks.download(call.taskId))] }
    case 'cutOut': {
      const task = await matte.tasks.cutOut(call.path, { output: call.options ?? {} }, { signal })
      return { results: [await describeCutout(await matte.tasks.download(task))] }
    }
    case 'erase': {
      const { taskId } = await matte.removeBackground(call.path)
      await matte.tasks.eraseImages(taskId)
      return { results: [await describeCutout(await matte.tasks.download(taskId))] }
    }
    case 'listTasks': {
      let count = 0
      for await (const _task of matte.tasks.list({ status: call.status })) count++
      return { count }
    }
    case 'removeBackgrounds':
      return { results: await removeMany(matte, call, signal) }
  }
}

async function removeMany(
  matte: Matte,
  { inputs, concurrency, manifest, options }: Extract<Call, { name: 'removeBackgrounds' }>,
  signal: AbortSignal,
): Promise<Result[]> {
  const results: Result[] = []
  const named = inputs.map(({ key, path }) => ({ key, input: path }))
  const many = { ...options, concurrency, manifest, signal, done: 'download' } as const
  for await (const { key, ...result } of matte.removeBackgrounds(named, many)) {
    if (result.error) results.push({ key, error: describeError(result.error) })
    else results.push({ key, resumed: result.resumed, ...(await describeCutout(result.cutout)) })
  }
  return results
}

async function verify(matte: Matte, call: Extract<Call, { name: 'verify' }>): Promise<Outcome> {
  const { body, headers, secrets, toleranceSeconds } = call
  await matte.webhooks.verify(Buffer.from(body, 'base64'), headers, secrets, { toleranceSeconds })
  return {}
}

async function describeCutout(cutout: Cutout): Promise<Result> {
  const bytes = await cutout.bytes()
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { taskId: cutout.taskId, contentType: cutout.contentType, sizeBytes: bytes.length, sha256 }
}

function describeError(error: unknown): Failure {
  if (!(error instanceof MatteError)) {
    const { name, message } = error as Error
    return { code: 'UNTYPED', message, retryable: false, type: name }
  }
  const { code, message, retryable, requestId, status, taskId, retryAfterMs, name } = error
  return { code, message, retryable, requestId, status, taskId, retryAfterMs, type: name } as Failure
}
