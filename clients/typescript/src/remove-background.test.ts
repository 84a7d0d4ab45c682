import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import type { ImageInput, Progress } from './options.ts'
import { buildRequest } from './remove-background.ts'
import { type Breaks, png, result, sendError, startService } from './service.fixtures.ts'

/** No jitter, so retries take no time. */
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0))
afterEach(() => void vi.restoreAllMocks())

async function given(breaks?: Breaks) {
  const service = await startService(breaks)
  onTestFinished(() => service[Symbol.asyncDispose]())
  return service
}

async function givenFile(bytes: Uint8Array = png): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'matte-client-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const path = join(dir, 'chair.png')
  await writeFile(path, bytes)
  return path
}

it('uploads, creates, waits and downloads in one call', async () => {
  const service = await given()
  service.settings.status = 'queued'
  const shadow = { kind: 'drop', opacity: 60, grow: true } as const
  const wish = { format: 'webp', background: '#fff', shadow, model: 'fast' } as const
  const cutout = await service.matte().removeBackground(png, wish)
  expect(Buffer.from(await cutout.bytes())).toEqual(result)
  expect(cutout).toMatchObject({ contentType: 'image/webp', sizeBytes: result.length, taskId: cutout.task.id })
  const created = service.requests.find(({ method, path }) => method === 'POST' && path.endsWith('/tasks'))
  const objectKey = [...service.objects.keys()][0]
  expect(JSON.parse(String(created?.body))).toEqual({
    imageUrl: objectKey,
    modelVersion: 'fast',
    output: { format: 'webp', background: '#ffffff', shadow },
  })
  expect(created?.headers).toMatchObject({ prefer: 'wait=20', 'x-api-key': 'service_live_x' })
  expect(created?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/)
})

it('sends the key to the service alone', async () => {
  const service = await given()
  await service.matte().removeBackground(png)
  const withKey = service.requests.filter(({ headers }) => 'x-api-key' in headers).map(({ path }) => path)
  expect(service.requests).toHaveLength(4)
  expect(withKey).toEqual(['/api/v1/open/developer/uploads/presign', '/api/v1/open/developer/tasks'])
})

const inputs: Readonly<Record<string, () => ImageInput | Promise<ImageInput>>> = {
  'a path': () => givenFile(),
  'a file URL': async () => new URL(`file://${await givenFile()}`),
  bytes: () => png,
  'a Buffer': () => Buffer.from(png),
  'an ArrayBuffer': () => png.slice().buffer,
  'a Blob': () => new Blob([png]),
  'a File': () => new File([png], 'chair.png'),
  'a web stream': () => new Blob([png]).stream(),
  'a stream of Node': () => Readable.from([Buffer.from(png.subarray(0, 10)), Buffer.from(png.subarray(10))]),
  'an http URL': async () => {
    const server = createServer((_request, response) => response.end(png))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/photos/chair.png`
  },
}
it.each(Object.entries(inputs))('uploads %s with its length', async (_name, open) => {
  const service = await given()
  const input = await open()
  await service.matte().removeBackground(input)
  const put = service.requests.find(({ method }) => method === 'PUT')
  expect(put?.headers).toMatchObject({ 'content-length': String(png.length), 'content-type': 'image/png' })
  expect(put?.body.equals(png)).toBe(true)
})

it('names the upload after the file', async () => {
  const service = await given()
  await service.matte().uploads.put(await givenFile())
  expect(JSON.parse(String(service.requests[0]?.body))).toEqual({
    fileName: 'chair.png',
    contentType: 'image/png',
    fileSize: png.length,
  })
})

it.each([
  ['a missing file', '/nowhere/chair.png', /no such file or directory/],
  ['an empty file', new Uint8Array(), /empty/],
  ['text', new TextEncoder().encode('hello'), /not a PNG, JPEG or WebP/],
  ['a directory', '/', /not a file/],
  ['a parsed object', { a: 1 } as never, /must be a path/],
  ['a stream of text', Readable.from(['text']) as never, /must yield bytes/],
  ['a stream of more than 20 MB', Readable.from(Array(21).fill(Buffer.alloc(1_048_576))), /20 MB/],
])('refuses %s before any request', async (_name, input, message) => {
  const service = await given()
  const removing = service.matte().removeBackground(input)
  await expect(removing).rejects.toMatchObject({ code: 'CLIENT_INPUT', message: expect.stringMatching(message) })
  expect(service.requests).toEqual([])
})

it('reports states and bytes in their order', async () => {
  const service = await given()
  service.settings.status = 'queued'
  const seen: Progress[] = []
  const cutout = await service.matte().removeBackground(png, { onProgress: (progress) => seen.push(progress) })
  const states = seen.map(({ state }) => state).filter((state, index, all) => state !== all[index - 1])
  expect(states).toEqual(['uploading', 'queued', 'downloading', 'done'])
  const uploaded = seen.filter(({ state }) => state === 'uploading')
  expect(uploaded.at(0)).toEqual({ state: 'uploading', loadedBytes: 0, totalBytes: png.length })
  expect(uploaded.length).toBeGreaterThan(2)
  expect(uploaded.at(-1)?.loadedBytes).toBe(png.length)
  expect(seen.at(-1)).toEqual({
    state: 'done',
    loadedBytes: result.length,
    totalBytes: result.length,
    taskId: cutout.taskId,
  })
})

it('saves a file whole, under the longest name and in a new folder', async () => {
  const service = await given()
  const path = await givenFile()
  const cutout = await service.matte().removeBackground(path)
  await cutout.save(path)
  expect(await readFile(path)).toEqual(result)
  const inNewFolder = join(dirname(path), 'a/b', `${'x'.repeat(251)}.png`)
  await cutout.save(inNewFolder)
  expect(await readFile(inNewFolder)).toEqual(result)
  await expect(cutout.save(join(path, 'chair.webp'))).rejects.toMatchObject({
    code: 'CLIENT_INPUT',
    message: expect.stringContaining('cannot be written: '),
  })
  expect(await readdir(dirname(inNewFolder))).toHaveLength(1)
})

it('rejects a failed task with its reason and id', async () => {
  const service = await given()
  service.settings.status = 'failed'
  const error = await service
    .matte()
    .removeBackground(png)
    .catch((cause) => cause)
  expect(error).toMatchObject({
    code: 'INPUT_UNREADABLE',
    message: 'It is damaged.',
    retryable: false,
    status: undefined,
  })
  expect(service.tasks.has(error.taskId)).toBe(true)
})

it('uploads again by a new grant when the first has expired', async () => {
  const service = await given(({ seen, response }) => {
    if (seen.method !== 'PUT' || service.paths('PUT').length > 1) return false
    response.writeHead(403).end('<Code>AccessDenied</Code>')
    return true
  })
  await service.matte().removeBackground(png)
  expect(service.paths('PUT')).toHaveLength(2)
  expect(service.paths('POST').filter((path) => path.endsWith('/presign'))).toHaveLength(2)
})

it('reads the task again when the link to the result has expired', async () => {
  const service = await given(({ seen, response, count }) => {
    if (!seen.path.startsWith('/results/') || count > 1) return false
    response.writeHead(403).end()
    return true
  })
  const cutout = await service.matte().removeBackground(png)
  expect(cutout.sizeBytes).toBe(result.length)
  expect(service.paths('GET').filter((path) => path.includes('/tasks/'))).toHaveLength(1)
})

it('repeats a download that is cut short, and names the task when it gives up', async () => {
  const service = await given(({ seen, response }) => {
    if (!seen.path.startsWith('/results/')) return false
    response.writeHead(200, { 'content-length': result.length })
    response.write(result.subarray(0, 5))
    response.socket?.end()
    return true
  })
  const removing = service.matte({ retriesMax: 1 }).removeBackground(png)
  await expect(removing).rejects.toMatchObject({
    code: 'CLIENT_CONNECTION',
    retryable: true,
    taskId: [...service.tasks.keys()][0] ?? expect.any(String),
  })
  expect(service.paths('GET').filter((path) => path.startsWith('/results/'))).toHaveLength(2)
})

it('compares a download with its Content-Length, which not every fetch does', async () => {
  const service = await given()
  const isResult = (url: unknown) => String(url).includes('/results/')
  const short = () => new Response('RIFF', { headers: { 'content-length': '99' } })
  const lenient: typeof fetch = async (url, init) => (isResult(url) ? short() : fetch(url, init))
  const removing = service.matte({ fetch: lenient, retriesMax: 0 }).removeBackground(png)
  await expect(removing).rejects.toMatchObject({
    code: 'CLIENT_CONNECTION',
    message: expect.stringMatching(/cut short/),
  })
})

it('cancels a task that is queued when the signal aborts, and names it', async () => {
  const aborting = new AbortController()
  const service = await given(({ seen }) => {
    if (seen.method === 'GET') aborting.abort(new Error('enough'))
    return false
  })
  service.settings.status = 'queued'
  service.settings.pollsUntilEnd = 100
  const error = await service
    .matte()
    .removeBackground(png, { signal: aborting.signal })
    .catch((cause) => cause)
  expect(error).toMatchObject({ code: 'CLIENT_ABORTED', retryable: false, details: { canceled: true } })
  expect(service.tasks.get(error.taskId)?.status).toBe('canceled')
})

it('finds the task of a creation in flight by its key, to cancel it', async () => {
  const aborting = new AbortController()
  const service = await given(async ({ seen, count }) => {
    if (!seen.path.endsWith('/tasks') || count > 1) return false
    // The service has the task, and its answer waits for the end of it.
    await new Promise((resolve) => setImmediate(resolve))
    queueMicrotask(() => aborting.abort())
    return false
  })
  service.settings.status = 'queued'
  const error = await service
    .matte()
    .removeBackground(png, { signal: aborting.signal })
    .catch((cause) => cause)
  expect(error).toMatchObject({ code: 'CLIENT_ABORTED', details: { canceled: true } })
  expect([...service.tasks.values()].map(({ status }) => status)).toEqual(['canceled'])
})

it('says that a task in progress goes on', async () => {
  const aborting = new AbortController()
  const service = await given(({ seen }) => {
    if (seen.method === 'GET') aborting.abort()
    return false
  })
  service.settings.status = 'processing'
  const error = await service
    .matte()
    .removeBackground(png, { signal: aborting.signal })
    .catch((cause) => cause)
  expect(error).toMatchObject({ code: 'CLIENT_ABORTED', details: { canceled: false }, taskId: expect.any(String) })
})

it('creates nothing when the signal aborts during the upload', async () => {
  const aborting = new AbortController()
  const service = await given(({ seen }) => {
    if (seen.method === 'PUT') aborting.abort()
    return false
  })
  const error = await service
    .matte()
    .removeBackground(png, { signal: aborting.signal })
    .catch((cause) => cause)
  expect(error).toMatchObject({ code: 'CLIENT_ABORTED', taskId: undefined })
  expect(service.tasks.size).toBe(0)
})

it('stops waiting after waitMs, and names the task', async () => {
  const service = await given()
  service.settings.status = 'processing'
  const removing = service.matte().removeBackground(png, { waitMs: 300 })
  await expect(removing).rejects.toMatchObject({ code: 'CLIENT_TIMEOUT', retryable: true, taskId: expect.any(String) })
})

it('passes the refusal of the service on', async () => {
  const service = await given(({ seen, response }) => {
    if (!seen.path.endsWith('/tasks')) return false
    sendError(response, 400, 'CREDITS_INSUFFICIENT')
    return true
  })
  await expect(service.matte().removeBackground(png)).rejects.toMatchObject({
    code: 'CREDITS_INSUFFICIENT',
    status: 400,
    requestId: 'req-9',
    retryable: false,
    docs: `${service.origin}/docs/errors/CREDITS_INSUFFICIENT`,
  })
})

it.each([
  ['#fff', '#ffffff'],
  ['#1aB8', '#11aaBB88'],
  ['#ffffff', '#ffffff'],
  ['#12345678', '#12345678'],
  ['transparent', 'transparent'],
  ['#12', '#12'],
  ['#ggg', '#ggg'],
])('sends the background %s as %s', (background, sent) => {
  expect(buildRequest({ background })).toEqual({ output: { background: sent } })
})
