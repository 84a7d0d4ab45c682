// Metrics of the three deployed processes: documented names and labels, and series that do not grow with callers, ids,
// paths or any input. Also gauges that the API reads from the database.
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { createClient } from '../support/client.ts'
import { givenWorkspace } from '../support/factories.ts'
import { metricsOf } from '../support/metrics/documented-metrics.ts'
import { type Exposed, findUndocumented, scrape, valuesOf } from '../support/metrics/exposed-metrics.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { type Stack, useStack } from '../support/stack.ts'
import { until } from '../support/until.ts'
import { smallImage } from './given.ts'

/** Maximum number of series of an API, as docs/metrics.md states. */
const seriesMax = 5_000

const random = (): string => randomBytes(8).toString('hex')

/** Our series, without values. */
const identify = ({ series }: Exposed): string[] =>
  series
    .filter(({ name }) => name.startsWith('matte_'))
    .map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`)
    .sort()

describe('three processes', () => {
  // The dispatcher registers the metrics of images by URL with this setting only.
  const stack = useStack({ env: { dispatcher: { UPLOADS_FETCH_URLS: 'true' } } })

  it('expose the documented metrics, and the same series for any callers and requests', async () => {
    const receiver = await startReceiver()
    const { healthUrl } = stack.process('api')
    try {
      await work(stack, receiver)
      const before = identify(await scrape(healthUrl))
      for (let round = 0; round < 4; round++) await work(stack, receiver)
      expect(identify(await scrape(healthUrl))).toEqual(before)
    } finally {
      await receiver.close()
    }
    const api = await scrape(healthUrl)
    expect(findUndocumented(api, metricsOf('api'))).toEqual([])
    expect(api.series.length).toBeLessThan(seriesMax)
    const odd = valuesOf(api, 'matte_http_request_duration_seconds_count', { method: 'other', route: 'none' })
    expect(odd).toEqual([expect.any(Number)])
    expect(valuesOf(api, 'matte_http_errors_total', { code: 'DEVELOPER_TASK_NOT_FOUND' })).toEqual([10])

    const dispatcher = await scrape(stack.process('dispatcher').healthUrl)
    expect(findUndocumented(dispatcher, metricsOf('dispatcher'))).toEqual([])
    // The controller has no pools here, so its counts of requests to the API server are missing.
    const worker = await scrape(stack.process('worker').healthUrl)
    expect(findUndocumented(worker, metricsOf('worker'), () => true)).toEqual([])
    for (const exposed of [api, worker, dispatcher]) {
      expect(valuesOf(exposed, 'matte_build_info')).toEqual([1])
      expect(valuesOf(exposed, 'matte_nats_connected')).toEqual([1])
      expect(valuesOf(exposed, 'matte_database_query_duration_seconds_count').some((count) => count > 0)).toBe(true)
    }
  })
})

/** Requests of a new owner and of strangers, with unknown ids, paths and headers. */
async function work({ db, process }: Stack, receiver: Receiver): Promise<void> {
  const { url } = process('api')
  for (const plan of ['pro', 'enterprise']) {
    const { id: workspaceId } = await givenWorkspace(db, { plan, credits: 5 })
    const key = generateApiKey()
    await insertApiKey(db, key, { workspaceId, name: random(), scopes, expiresAt: null })
    const client = createClient(url, key.key)
    const imageUrl = await client.upload(await smallImage(), { fileName: `${random()}.png` })
    const { id } = await client.createTask({ imageUrl, callbackUrl: `${receiver.url}/${random()}` })
    await until('its webhook arrives', () => receiver.received.some(({ bytes }) => bytes.includes(id)))
    await client.getTask(id)
    const refused = [
      client.getTask(crypto.randomUUID()),
      client.createTask({ imageUrl: random(), modelVersion: random() }),
      client.call(random().toUpperCase().replace(/\d/g, 'X'), '/tasks'),
      createClient(url, random()).listTasks(),
      createClient(url, generateApiKey().key).listTasks(),
    ]
    await Promise.all(refused.map((call) => call.then(unexpected, () => undefined)))
    if (plan === 'pro') continue
    for (const path of [`/${random()}`, `/files/${random()}`, `/${random()}/${random()}?a=${random()}`, '/%zz'])
      await (await fetch(`${url}${path}`, { headers: { [`x-${random()}`]: random() } })).arrayBuffer()
    for (const method of ['PROPFIND', 'PURGE', 'REPORT']) await send(url, `${method} /${random()} HTTP/1.1`)
    await send(url, `${random()} nonsense`)
  }
}

const unexpected = (): never => {
  throw new Error('it was to be refused')
}

/** A request with this first line, which no client would send; waits for its response. */
function send(url: string, line: string): Promise<void> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(`${line}\r\nHost: a\r\nX-${random()}: ${random()}\r\nConnection: close\r\n\r\n`)
    })
    socket.resume()
    socket.once('error', reject)
    socket.once('close', () => resolve())
  })
}

describe('gauges that the API reads from the database', () => {
  const stack = useStack({ own: ['postgres'], processes: ['api'] })
  const read = (name: string, labels: Record<string, string> = {}) =>
    scrape(stack.process('api').healthUrl).then((exposed) => valuesOf(exposed, name, labels))
  const untilRead = (name: string, value: number, labels: Record<string, string> = {}) =>
    until(`${name} is ${value}`, async () => (await read(name, labels))[0] === value)

  /** Read every ten seconds; held credits, invariants and finished tasks less often. */
  const sampled = [
    ['matte_task_queued_age_seconds', {}],
    ['matte_tasks_queued', {}],
    ['matte_delivery_due_age_seconds', {}],
    ['matte_deliveries_due', {}],
    ['matte_retention_lag_seconds', { what: 'objects' }],
  ] as const

  it('show queue lengths and ages without a controller; broken invariants also appear in the log', async () => {
    await writeSetting(stack.db, 'dispatchPaused', true)
    const imageUrl = await stack.client.upload(await smallImage())
    const { id } = await stack.client.createTask({ imageUrl })
    await sql`update task set queued_at = now() - interval '1 h' where id = ${id}`.execute(stack.db)
    await untilRead('matte_tasks_queued', 1, { model_version: 'service-v2' })
    const [age = 0] = await read('matte_task_queued_age_seconds', { model_version: 'service-v2' })
    expect(age).toBeGreaterThanOrEqual(3_600)
    expect(await read('matte_invariant_violations')).toEqual([0, 0, 0, 0, 0])
    expect(await read('matte_credits_held')).toEqual([0])

    await sql`update workspace set queued = queued + 1, open_singles = open_singles + 1`.execute(stack.db)
    await stack.process('api').stop()
    const api = await stack.start('api')
    await untilRead('matte_invariant_violations', 1, { invariant: 'task_counts' })
    const line = await api.untilLogged('an invariant is broken')
    expect(line).toMatchObject({ level: 'error', invariant: 'task_counts', rows: 1, ids: [stack.workspaceId] })
  })

  it('show nothing after a failed read, count its reason, and show values again later', async () => {
    const isThere = async (name: string, labels: Record<string, string>) => (await read(name, labels)).length > 0
    for (const [name, labels] of sampled) await until(`${name} is there`, () => isThere(name, labels))
    await stack.server('postgres').stop()
    for (const [name, labels] of sampled) await until(`${name} is gone`, async () => !(await isThere(name, labels)))
    const failed = { dependency: 'database', reason: 'unreachable' }
    expect((await read('matte_dependency_errors_total', failed))[0]).toBeGreaterThan(0)
    expect((await read('matte_database_errors_total', { reason: 'unavailable' }))[0]).toBeGreaterThan(0)
    await stack.server('postgres').start()
    for (const [name, labels] of sampled) await until(`${name} is back`, () => isThere(name, labels))
  })
})
