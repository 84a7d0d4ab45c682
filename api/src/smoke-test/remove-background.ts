// Removes backgrounds through the public API with the documented calls: presign, PUT, create, poll, download.
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'

/** NASA's photo of a rocket, bundled into the image. */
export const readBundledPhoto = (): Buffer => readFileSync(new URL('./try.jpg', import.meta.url))

type Connection = {
  readonly origin: string
  readonly apiKey: string
}

type Grant = { readonly uploadUrl: string; readonly objectKey: string; readonly headers: Record<string, string> }
type Task = {
  readonly id: string
  readonly status: string
  readonly resultUrl: string | null
  readonly failure?: { readonly reason: string; readonly message: string } | null
}

export type CutOut = { readonly taskId: string; readonly png: Buffer; readonly seconds: number }

/** Covers a pool that starts from zero. */
const waitMs = 180_000

/** @throws Error with the refused call and its response */
export async function removeBackground(
  connection: Connection,
  photo: Buffer,
  { callbackUrl }: { readonly callbackUrl?: string } = {},
): Promise<CutOut> {
  const started = performance.now()
  const contentType = contentTypeOf(photo)
  const file = { fileName: 'photo', contentType, fileSize: photo.length }
  const grant = await call<Grant>(connection, '/uploads/presign', file)
  await storeRequest(connection, grant.uploadUrl, { headers: grant.headers, body: photo })
  const { id } = await call<Task>(connection, '/tasks', { imageUrl: grant.objectKey, callbackUrl })
  const task = await untilEnded(connection, id)
  if (task.status !== 'succeeded' || task.resultUrl === null) {
    throw new Error(`the task ended as ${task.status}: ${task.failure?.reason ?? ''} ${task.failure?.message ?? ''}`)
  }
  const png = await storeRequest(connection, task.resultUrl)
  return { taskId: id, png, seconds: (performance.now() - started) / 1_000 }
}

/** POST with a body, GET without. @throws Error with code and message of the response */
export async function call<T>({ origin, apiKey }: Connection, path: string, body?: object): Promise<T> {
  const method = body === undefined ? 'GET' : 'POST'
  const answer = await request(`${origin}/api/v1/open/developer${path}`, {
    method,
    headers: { 'x-api-key': apiKey, ...(body && { 'content-type': 'application/json' }) },
    body: body ? JSON.stringify(body) : null,
  })
  const { data, error } = (await answer.body.json()) as { data?: T; error?: { code: string; message: string } }
  if (data === undefined) throw new Error(`${method} ${path}: ${answer.statusCode} ${error?.code} ${error?.message}`)
  return data
}

async function untilEnded(connection: Connection, id: string): Promise<Task> {
  const deadline = performance.now() + waitMs
  while (performance.now() < deadline) {
    const task = await call<Task>(connection, `/tasks/${id}`)
    if (['succeeded', 'failed', 'canceled'].includes(task.status)) return task
    await pause(100)
  }
  throw new Error(`task ${id} did not end within ${waitMs / 1_000} s`)
}

/** PUT with a body, GET without. Connects to `origin`: the signed host need not be reachable from here. */
async function storeRequest(
  { origin }: Connection,
  signedUrl: string,
  { headers, body }: { readonly headers?: Record<string, string>; readonly body?: Buffer } = {},
): Promise<Buffer> {
  const method = body === undefined ? 'GET' : 'PUT'
  const { host, pathname, search } = new URL(signedUrl)
  const answer = await request(`${origin}${pathname}${search}`, {
    method,
    headers: { ...headers, host },
    body: body ?? null,
  })
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  if (answer.statusCode >= 300) throw new Error(`${method} of the image: ${answer.statusCode} ${bytes.toString()}`)
  return bytes
}

function contentTypeOf(photo: Buffer): string {
  if (photo.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))) return 'image/jpeg'
  return photo.subarray(8, 12).toString('latin1') === 'WEBP' ? 'image/webp' : 'image/png'
}

/** Writes a JSON line per photo: `{"taskId","seconds"}`, or `{"error"}`. */
export async function tryMany(
  connection: Connection,
  { count, atOnce }: { readonly count: number; readonly atOnce: number },
): Promise<void> {
  const photo = readBundledPhoto()
  let begun = 0
  const client = async (): Promise<void> => {
    while (begun < count) {
      begun += 1
      const line = await removeBackground(connection, photo).then(
        ({ taskId, seconds }) => ({ taskId, seconds }),
        (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }),
      )
      process.stdout.write(`${JSON.stringify(line)}\n`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, client))
}
