import { expect, it, onTestFinished, vi } from 'vitest'
import type { ManifestStore, NamedInput, RemoveManyOptions } from '../options.ts'
import { type Breaks, png, sendError, startService } from '../service.fixtures.ts'
import { parseManifest } from './manifest.ts'

async function given(breaks?: Breaks) {
  const service = await startService(breaks)
  onTestFinished(() => service[Symbol.asyncDispose]())
  return service
}
type Service = Awaited<ReturnType<typeof given>>

/** Images that differ. */
const photo = (index: number): Uint8Array<ArrayBuffer> => Uint8Array.from([...png.subarray(0, 100), index])
const named = (count: number): NamedInput[] =>
  Array.from({ length: count }, (_, index) => ({ key: `photo-${index}`, input: photo(index) }))

function memoryStore(text = '') {
  const store: ManifestStore = {
    read: async () => text,
    append: async (more) => {
      text += more
    },
  }
  return { store, text: () => text }
}

async function runAll(service: Service, inputs: Iterable<NamedInput>, options: RemoveManyOptions = {}) {
  const results = []
  for await (const one of service.matte().removeBackgrounds(inputs, options)) results.push(one)
  return results
}
const keysOf = (results: readonly { readonly key: string }[]) => results.map(({ key }) => key).sort()

it('yields every result, and an error in place of a bad input', async () => {
  const service = await given()
  const inputs = [...named(6), { key: 'bad', input: 'nowhere.png' }]
  const results = await runAll(service, inputs)
  expect(keysOf(results)).toEqual(keysOf(inputs))
  const { error } = results.find(({ key }) => key === 'bad') ?? {}
  expect(error).toMatchObject({ code: 'CLIENT_INPUT' })
  expect(service.tasks.size).toBe(6)
})

it('reads the inputs as it has room for them', async () => {
  const service = await given()
  let read = 0
  function* endless() {
    for (; ; read++) yield { key: String(read), input: photo(read % 250) }
  }
  let taken = 0
  for await (const _one of service.matte().removeBackgrounds(endless(), { concurrency: 3 })) {
    expect(read).toBeLessThanOrEqual(taken + 1 + 3)
    if (++taken === 20) break
  }
})

it('runs as many at once as asked, and not more', async () => {
  let open = 0
  let most = 0
  const service = await given(async ({ seen, response }) => {
    if (seen.method !== 'PUT') return false
    most = Math.max(most, ++open)
    await new Promise((resolve) => setTimeout(resolve, 20))
    open--
    response.writeHead(200).end()
    return true
  })
  await runAll(service, named(12), { concurrency: 3 })
  expect(most).toBe(3)
})

it('waits for its turn at the limit of concurrent tasks, and fails nothing', async () => {
  const service = await given()
  Object.assign(service.settings, { status: 'queued', openMax: 2 })
  const results = await runAll(service, named(10), { concurrency: 8 })
  expect(results.filter(({ error }) => error)).toEqual([])
  expect(service.tasks.size).toBe(10)
})

it('starts nothing new while Retry-After lasts', async () => {
  let refusedAt = 0
  const service = await given(({ seen, response }) => {
    if (!seen.path.endsWith('/presign')) return false
    const isFirst = refusedAt === 0
    if (isFirst) {
      refusedAt = Date.now()
      sendError(response, 429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': '1' })
    } else if (Date.now() - refusedAt < 900) late.push(seen.path)
    return isFirst
  })
  const late: string[] = []
  const results = await runAll(service, named(4), { concurrency: 1 })
  expect(results.filter(({ error }) => error)).toEqual([])
  expect(late).toEqual([])
})

it('passes over what the manifest records as done, or downloads it again', async () => {
  const service = await given()
  const { store } = memoryStore()
  await runAll(service, named(3), { manifest: store })
  expect(await runAll(service, named(4), { manifest: store })).toMatchObject([{ key: 'photo-3', resumed: false }])
  const again = await runAll(service, named(4), { manifest: store, done: 'download' })
  expect(again.map((one) => 'resumed' in one && one.resumed)).toEqual([true, true, true, true])
  expect(service.tasks.size).toBe(4)
})

it('makes no second task after a crash at any byte of the manifest', async () => {
  const service = await given()
  const { store, text } = memoryStore()
  await runAll(service, named(3), { manifest: store, concurrency: 2 })
  const whole = text()
  const cuts = [...whole.matchAll(/\n|taskId|idempotencyKey/g)].map(({ index }) => index + 1)
  for (const cut of cuts) {
    const torn = whole.slice(0, cut)
    const recorded = parseManifest(torn)
    const done = [...recorded.values()].filter(({ state }) => state === 'done').length
    const before = service.tasks.size
    const results = await runAll(service, named(3), { manifest: memoryStore(torn).store })
    expect(results.filter(({ error }) => error)).toEqual([])
    expect(results).toHaveLength(3 - done)
    expect(service.tasks.size - before).toBe(3 - recorded.size)
  }
})

it('records the key before the creation is sent', async () => {
  const { store, text } = memoryStore()
  const recorded: boolean[] = []
  const service = await given(({ seen }) => {
    const key = seen.headers['idempotency-key']
    if (key !== undefined) recorded.push(text().includes(String(key)))
    return false
  })
  await runAll(service, named(3), { manifest: store })
  expect(recorded).toEqual([true, true, true])
})

it('sends the creation of a crashed run again with its key and body', async () => {
  const service = await given()
  const { store, text } = memoryStore()
  await runAll(service, named(1), { manifest: store, format: 'webp', callbackUrl: 'https://example.com/hook' })
  const torn = text().split('\n').slice(0, 2).join('\n')
  await runAll(service, named(1), {
    manifest: memoryStore(torn).store,
    callbackUrl: 'https://example.com/hook',
    format: 'webp',
  })
  const creations = service.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('/tasks'))
  expect(new Set(creations.map(({ headers, body }) => `${headers['idempotency-key']} ${body}`)).size).toBe(1)
  expect(creations).toHaveLength(2)
})

it('looks for the task of a creation that is older than the memory of its key', async () => {
  const service = await given()
  const { store, text } = memoryStore()
  await runAll(service, named(1), { manifest: store })
  const old = text()
    .split('\n')
    .slice(0, 2)
    .join('\n')
    .replace(/"at":"[^"]+"/, '"at":"2020-01-01T00:00:00.000Z"')
  expect(await runAll(service, named(1), { manifest: memoryStore(old).store })).toMatchObject([{ resumed: true }])
  expect(service.tasks.size).toBe(1)
  expect(service.paths('GET')).toContain('/api/v1/open/developer/tasks')
})

it.each(['failed', 'canceled'] as const)('begins again when the earlier task has %s', async (status) => {
  const service = await given()
  const { store, text } = memoryStore()
  await runAll(service, named(1), { manifest: store })
  for (const task of service.tasks.values()) task.status = status
  const created = text().split('\n').slice(0, 3).join('\n')
  expect(await runAll(service, named(1), { manifest: memoryStore(created).store })).toMatchObject([{ resumed: false }])
})

it('makes a new task for another image or other options under the same key', async () => {
  const service = await given()
  const { store } = memoryStore()
  await runAll(service, named(1), { manifest: store })
  await runAll(service, [{ key: 'photo-0', input: photo(9) }], { manifest: store })
  await runAll(service, [{ key: 'photo-0', input: photo(9) }], { manifest: store, format: 'webp' })
  expect(service.tasks.size).toBe(3)
})

it.each(['abort', 'break'])('cancels what is queued when the caller leaves by %s', async (way) => {
  const aborting = new AbortController()
  const service = await given(({ seen, count }) => {
    if (seen.method === 'POST' && seen.path.endsWith('/tasks') && count > 1) service.settings.status = 'queued'
    return false
  })
  service.settings.pollsUntilEnd = Number.POSITIVE_INFINITY
  const run = async () => {
    const inputs = named(9)
    for await (const _one of service.matte().removeBackgrounds(inputs, { concurrency: 3, signal: aborting.signal })) {
      while (service.tasks.size < 3) await new Promise((resolve) => setImmediate(resolve))
      if (way === 'break') break
      aborting.abort()
    }
  }
  if (way === 'abort') await expect(run()).rejects.toMatchObject({ code: 'CLIENT_ABORTED' })
  else await run()
  const states = [...service.tasks.values()].map(({ status }) => status)
  expect(states.filter((status) => status === 'canceled').length).toBeGreaterThanOrEqual(2)
  expect(states).not.toContain('queued')
})

it('creates no task that was refused before, only to cancel it', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => void vi.restoreAllMocks())
  const aborting = new AbortController()
  let refusals = 0
  const service = await given(({ seen, response }) => {
    const isCreation = seen.method === 'POST' && seen.path.endsWith('/tasks')
    if (!isCreation || service.tasks.size === 0 || aborting.signal.aborted) return false
    sendError(response, 400, 'TASK_CONCURRENT_LIMIT')
    // By now each of the three others was refused, and they ask again one by one.
    if (++refusals === 9) aborting.abort()
    return true
  })
  Object.assign(service.settings, { status: 'queued', pollsUntilEnd: Number.POSITIVE_INFINITY })
  const running = runAll(service, named(4), { concurrency: 4, signal: aborting.signal })
  await expect(running).rejects.toMatchObject({ code: 'CLIENT_ABORTED' })
  // The creation in flight is an exception: the client cannot know that it was refused.
  expect(service.tasks.size).toBeLessThanOrEqual(2)
  expect([...service.tasks.values()].map(({ status }) => status)).not.toContain('queued')
})

it('rejects with the error of the inputs', async () => {
  const service = await given()
  function* broken() {
    yield* named(1)
    throw new Error('disk gone')
  }
  await expect(runAll(service, broken())).rejects.toThrow('disk gone')
})

it('refuses a single path, which would be read letter by letter', async () => {
  const service = await given()
  await expect(runAll(service, 'chair.jpg' as never)).rejects.toMatchObject({ code: 'CLIENT_CONFIG' })
})

it.each([0, 1.5, -1])('refuses a concurrency of %s', async (concurrency) => {
  const service = await given()
  await expect(runAll(service, [], { concurrency })).rejects.toMatchObject({ code: 'CLIENT_CONFIG' })
})
