// Reasons for unusable servers, counted with real ones: their certificate, our credentials, no listener.
import { chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openBus } from '@matte/core/bus/bus'
import { type Database, openDatabase } from '@matte/core/db/database'
import { createEdgeMetrics, type EdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { openBucket } from '@matte/core/storage/bucket'
import { sql } from 'kysely'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { type Exposed, parseExposition, valuesOf } from '../support/metrics/exposed-metrics.ts'
import { newPrefix } from '../support/nats.ts'
import { type OwnServer, ownNats, ownPostgres } from '../support/servers.ts'
import { sharedStore } from '../support/store.ts'
import { makeThrowAwayCertificate } from '../support/throw-away-certificate.ts'
import { until } from '../support/until.ts'

const logger = pino({ level: 'silent' })
const say = (): undefined => undefined
const ends: (() => unknown)[] = []
let metrics: EdgeMetrics

beforeEach(() => {
  metrics = createEdgeMetrics(createRegistry('test'), ['database', 'nats', 'store'])
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const read = async (): Promise<Exposed> => parseExposition(await metrics.registry.metrics())

/** Counts of a dependency by reason, without zeros. */
async function counted(dependency: string): Promise<Record<string, number>> {
  const { series } = await read()
  const own = series.filter(({ labels, value }) => labels.dependency === dependency && value > 0)
  return Object.fromEntries(own.map(({ labels, value }) => [labels.reason, value]))
}

describe('a database', () => {
  let server: OwnServer
  beforeAll(async () => {
    const dir = join(inject('runDir'), `tls-${newPrefix()}`)
    server = await ownPostgres({ dir, say })
    giveCertificate(join(dir, 'postgres'))
    const { db, stop } = openDatabase({ url: server.url, poolMax: 1, logger, applicationName: 'test' })
    await sql`alter system set ssl = on`.execute(db)
    await sql`select pg_reload_conf()`.execute(db)
    await stop()
    // The new settings apply a moment later.
    await until('it offers its certificate', async () => {
      const { db, stop } = openDatabase({
        url: `${server.url}?sslmode=no-verify`,
        poolMax: 1,
        logger,
        applicationName: 't',
      })
      await sql`select 1`.execute(db).finally(stop)
      return true
    })
  })
  afterAll(() => server.stop())

  const open = (url: string): Database => {
    const database = openDatabase({ url, poolMax: 2, logger, applicationName: 'test', metrics })
    ends.push(() => database.stop())
    return database
  }
  const ask = ({ db }: Database) => sql`select 1`.execute(db)

  it('with an untrusted certificate', async () => {
    await expect(ask(open(`${server.url}?sslmode=verify-full`))).rejects.toThrow('certificate')
    expect(await counted('database')).toEqual({ certificate: 1 })
    expect(valuesOf(await read(), 'matte_database_errors_total', { reason: 'unavailable' })).toEqual([1])
  })

  it('that rejects our password, for the pool and for the connection at start', async () => {
    const url = Object.assign(new URL(server.url), { password: 'wrong' }).href
    const database = open(url)
    await expect(ask(database)).rejects.toThrow('password')
    const alone = database.openAlone(AbortSignal.timeout(60_000))
    await expect(sql`select 1`.execute(alone)).rejects.toThrow('password')
    await alone.destroy()
    expect(await counted('database')).toEqual({ credentials: 2 })
  })

  it('that is not listening counts once for all waiting callers', async () => {
    const database = open('postgres://matte:test@127.0.0.1:1/matte')
    await expect(ask(database)).rejects.toThrow('ECONNREFUSED')
    await expect(ask(database)).rejects.toThrow('unavailable')
    expect(await counted('database')).toEqual({ unreachable: 1 })
    expect(valuesOf(await read(), 'matte_database_errors_total', { reason: 'unavailable' })).toEqual([2])
  })

  it('that closes the connection during a statement; other errors do not count as connection errors', async () => {
    const { db } = open(server.url)
    await sql`create table once (id int primary key)`.execute(db)
    await sql`insert into once values (1)`.execute(db)
    await expect(sql`insert into once values (1)`.execute(db)).rejects.toThrow()
    await expect(sql`select 1 / 0`.execute(db)).rejects.toThrow()
    const exposed = await read()
    for (const reason of ['constraint', 'other'])
      expect(valuesOf(exposed, 'matte_database_errors_total', { reason })).toEqual([1])
    expect(await counted('database')).toEqual({})
    await expect(sql`select pg_terminate_backend(pg_backend_pid())`.execute(db)).rejects.toThrow()
    expect(await counted('database')).toEqual({ unreachable: 1 })
  })

  it('times each statement and transaction by kind and pool', async () => {
    const { db } = open(server.url)
    await sql`create table timed (id int)`.execute(db)
    await db.transaction().execute(async (tx) => {
      await sql`insert into timed values (1)`.execute(tx)
      await sql`update timed set id = 2`.execute(tx)
      const exposed = await read()
      const pool = ['used', 'idle', 'max'].map(
        (state) => valuesOf(exposed, 'matte_database_pool_connections', { state })[0],
      )
      expect(pool).toEqual([1, 0, 2])
    })
    const exposed = await read()
    const times = (operation: string) => valuesOf(exposed, 'matte_database_query_duration_seconds_count', { operation })
    expect(['select', 'insert', 'update', 'delete', 'transaction', 'other'].flatMap(times)).toEqual([0, 1, 1, 0, 1, 1])
    expect(valuesOf(exposed, 'matte_database_pool_waiting')).toEqual([0])
  })
})

describe('NATS', () => {
  let server: OwnServer
  const dir = () => join(inject('runDir'), `nats-${newPrefix()}`)
  const start = async (config: string): Promise<void> => {
    const path = dir()
    server = await ownNats({ dir: path, say }, { config: config.replaceAll('DIR', path) })
    ends.push(() => server.stop())
  }
  const open = async (url: string): Promise<void> => {
    const bus = openBus({ url, prefix: newPrefix(), logger, name: 'test', metrics })
    await bus.start()
    ends.push(() => bus.stop())
  }
  const connected = async (): Promise<number | undefined> => valuesOf(await read(), 'matte_nats_connected')[0]

  it('that rejects our password until it is corrected', async () => {
    await start('authorization { user: matte, password: "right" }')
    await open(server.url.replace('nats://', 'nats://matte:wrong@'))
    const reasons = await until('it was refused', async () => {
      const found = await counted('nats')
      return Object.keys(found).length > 0 && found
    })
    expect(Object.keys(reasons)).toEqual(['credentials'])
    expect(await connected()).toBe(0)
  })

  it('with an untrusted certificate', async () => {
    const path = dir()
    mkdirSync(path, { recursive: true })
    const { certificate, key } = makeThrowAwayCertificate()
    writeFileSync(join(path, 'cert.pem'), certificate)
    writeFileSync(join(path, 'key.pem'), key)
    await start(`tls { cert_file: "${join(path, 'cert.pem')}", key_file: "${join(path, 'key.pem')}" }`)
    await open(server.url.replace('nats://', 'tls://'))
    const reasons = await until('it was refused', async () => {
      const found = await counted('nats')
      return Object.keys(found).length > 0 && found
    })
    expect(Object.keys(reasons)).toEqual(['certificate'])
  })

  it('that goes away and comes back', async () => {
    await start('')
    await open(server.url)
    await until('it is connected', async () => (await connected()) === 1)
    expect(await counted('nats')).toEqual({})
    await server.stop()
    await until('it is not connected', async () => (await connected()) === 0)
    expect((await counted('nats')).unreachable).toBeGreaterThan(0)
    await server.start()
    await until('it is connected again', async () => (await connected()) === 1)
  })
})

describe('the store', () => {
  const open = (changes: Partial<ReturnType<typeof sharedStore>> = {}) => {
    const { endpoint, ...keys } = { ...sharedStore(), ...changes }
    const address = { internalEndpoint: endpoint, publicEndpoint: endpoint, region: 'us-east-1' }
    const bucket = openBucket({ ...address, ...keys, bucket: newPrefix(), metrics })
    ends.push(() => bucket.close())
    return bucket
  }
  const outcomes = async (operation: string): Promise<Record<string, number>> => {
    const { series } = await read()
    const own = series.filter(({ name, labels }) => name.endsWith('_count') && labels.operation === operation)
    return Object.fromEntries(own.map(({ labels, value }) => [labels.outcome, value]))
  }

  it('that rejects our key, with either of its clients', async () => {
    const bucket = open({ secretAccessKey: 'wrong' })
    expect(await bucket.probe(5_000)).toBe(false)
    await expect(bucket.head('key', 1)).rejects.toThrow('unavailable')
    expect(await counted('store')).toEqual({ credentials: 2 })
    expect(await outcomes('head')).toEqual({ ok: 0, missing: 0, error: 1 })
  })

  it('that is not listening', async () => {
    const bucket = open({ endpoint: 'http://127.0.0.1:1' })
    expect(await bucket.probe(5_000)).toBe(false)
    await expect(bucket.put('key', Buffer.from('a'), { contentType: 'image/png' })).rejects.toThrow('unavailable')
    expect(await counted('store')).toEqual({ unreachable: 2 })
  })

  it('times operations by outcome; missing, changed and aborted objects are no errors of the store', async () => {
    const bucket = open()
    await bucket.ensure()
    await bucket.put('a', Buffer.from('a'), { contentType: 'image/png' })
    await bucket.get('a', { maxBytes: 10 })
    await expect(bucket.get('b', { maxBytes: 10 })).rejects.toMatchObject({ kind: 'missing' })
    await expect(bucket.get('a', { maxBytes: 10, etag: '"other"' })).rejects.toMatchObject({ kind: 'changed' })
    await expect(bucket.get('a', { maxBytes: 10, signal: AbortSignal.abort() })).rejects.toThrow()
    expect(await outcomes('get')).toEqual({ ok: 2, missing: 1, error: 0 })
    expect(await outcomes('put')).toEqual({ ok: 1, missing: 0, error: 0 })
    expect(await counted('store')).toEqual({})
  })
})

/** For PostgreSQL, whose files belong to a separate user. */
function giveCertificate(dataDir: string): void {
  const { uid, gid } = statSync(join(dataDir, 'PG_VERSION'))
  const { certificate, key } = makeThrowAwayCertificate()
  for (const [name, content] of Object.entries({ 'server.crt': certificate, 'server.key': key })) {
    writeFileSync(join(dataDir, name), content, { mode: 0o600 })
    chownSync(join(dataDir, name), uid, gid)
  }
}
