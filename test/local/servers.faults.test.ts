import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBucket } from '@matte/core/storage/bucket'
import type { RunningServer } from '@matte/local/lifecycle/server'
import { installNats, startNats } from '@matte/local/servers/nats'
import { installObjectStore, startObjectStore } from '@matte/local/servers/object-store'
import { installPostgres, startPostgres } from '@matte/local/servers/postgres'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { freePorts } from '../support/free-ports.ts'
import { pickObjectStorePorts } from '../support/object-store-ports.ts'
import { until } from '../support/until.ts'

const quiet = (): void => {}
let dir: string
let server: RunningServer | undefined

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'matte-servers-'))
  chmodSync(dir, 0o755) // PostgreSQL runs as another user when this process is root
})
afterEach(async () => {
  await server?.stop()
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const files = (name: string) => ({
  dataDir: join(dir, name),
  logFile: join(dir, `${name}.log`),
  lifetime: 'attached' as const,
})

describe('startPostgres', () => {
  it('keeps its data and address over a stop, a kill and a restart', async () => {
    const installation = await installPostgres()
    const [port = 0] = await freePorts(1)
    // A password with characters that a URL must escape.
    const start = () => startPostgres({ ...files('postgres'), installation, port, password: 'a/b:c@d' })
    server = await start()
    const { url } = server
    await query(url, 'CREATE TABLE kept AS SELECT 1 AS n')
    await server.stop()
    await expect(query(url, 'SELECT 1')).rejects.toThrow(/ECONNREFUSED/)

    server = await start()
    const open = new pg.Client({ connectionString: url })
    open.on('error', quiet)
    await open.connect()
    await query(url, 'UPDATE kept SET n = 2')
    await server.kill('SIGKILL')

    // Its sessions may hold the shared memory for a moment.
    server = await start()
    expect(await query(url, 'SELECT n FROM kept')).toEqual([{ n: 2 }])
  })
})

describe('startPostgres while the previous server is ending', () => {
  it('waits for its lock file', async () => {
    const installation = await installPostgres()
    const [first = 0, second = 0] = await freePorts(2)
    const before = await startPostgres({ ...files('locked'), installation, port: first, password: 'test' })
    try {
      const next = { ...files('locked'), logFile: join(dir, 'locked-next.log') }
      const starting = startPostgres({ ...next, installation, port: second, password: 'test' })
      starting.catch(quiet) // checked below
      const log = () => (existsSync(next.logFile) ? readFileSync(next.logFile, 'utf8') : '')
      await until('the lock file has been in the way', () => log().includes('"postmaster.pid" already exists'))
      await before.kill('SIGKILL')
      server = await starting
      expect(await query(server.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }])
    } finally {
      await before.stop()
    }
  })
})

describe('startNats', () => {
  it('is ready with JetStream, and starts empty after its store was removed', async () => {
    const installation = await installNats(quiet)
    const [client = 0, monitor = 0] = await freePorts(2)
    const start = () => startNats({ ...files('nats'), installation, ports: { client, monitor } })
    server = await start()
    const jetStream = await fetch(`http://127.0.0.1:${monitor}/jsz`)
    expect(await jetStream.json()).toMatchObject({ config: { store_dir: expect.stringContaining(dir) } })

    await server.kill('SIGKILL')
    rmSync(files('nats').dataDir, { recursive: true })
    server = await start()
    expect(existsSync(files('nats').dataDir)).toBe(true)
  })

  it('stops even if it is suspended', async () => {
    const installation = await installNats(quiet)
    const [client = 0, monitor = 0] = await freePorts(2)
    server = await startNats({ ...files('suspended'), installation, ports: { client, monitor } })
    await server.kill('SIGSTOP')
    await server.stop()
    await expect(fetch(`http://127.0.0.1:${monitor}/healthz`)).rejects.toThrow()
  })

  it('refuses a port that another program has taken', async () => {
    const installation = await installNats(quiet)
    const [client = 0, monitor = 0] = await freePorts(2)
    const ports = { client, monitor }
    server = await startNats({ ...files('first'), installation, ports })
    const second = startNats({ ...files('second'), installation, ports })
    await expect(second).rejects.toThrow(`nats needs port ${client}, which another program uses`)
  })

  it('reports why it did not start, with the end of its log', async () => {
    const installation = await installNats(quiet)
    const [client = 0, monitor = 0] = await freePorts(2)
    const start = { ...files('broken'), installation, ports: { client, monitor } }
    // A store cannot be created below a file.
    mkdirSync(start.dataDir)
    writeFileSync(join(start.dataDir, 'jetstream'), '')
    await expect(startNats(start)).rejects.toThrow(/nats ended before it was ready.*broken\.log.*not a directory/is)
  })
})

describe('startObjectStore', () => {
  it('can hold more buckets than the disk has gigabytes', async () => {
    const installation = await installObjectStore(quiet)
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test-secret-key' }
    server = await startObjectStore({
      ...files('many'),
      installation,
      ports: await pickObjectStorePorts(),
      credentials,
    })
    const endpoints = { internalEndpoint: server.url, publicEndpoint: server.url, region: 'us-east-1' }
    const { bavail, bsize } = statfsSync(dir)
    // Part of a large disk: each takes a quarter of a second.
    const gigabytes = Math.min(40, Math.floor((bavail * bsize) / 2 ** 30))
    for (let number = 0; number <= gigabytes; number++) {
      const bucket = openBucket({ ...endpoints, ...credentials, bucket: `bucket-${number}` })
      await bucket.ensure()
      await bucket.put('photo', Buffer.from('pixels'), { contentType: 'image/png' })
      bucket.close()
    }
  })

  it('keeps objects over a kill, rejects strangers on every port, and leaves no socket behind', async () => {
    const installation = await installObjectStore(quiet)
    const ports = await pickObjectStorePorts()
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test-secret-key' }
    const start = () => startObjectStore({ ...files('store'), installation, ports, credentials })
    server = await start()
    const endpoint = server.url
    const options = { internalEndpoint: endpoint, publicEndpoint: endpoint, bucket: 'kept', region: 'us-east-1' }
    const bucket = openBucket({ ...options, ...credentials })
    await bucket.ensure()
    await bucket.put('a/photo', Buffer.from('pixels'), { contentType: 'image/png' })
    await server.kill('SIGKILL')
    server = await start()
    expect((await bucket.get('a/photo', { maxBytes: 100 })).toString()).toBe('pixels')
    bucket.close()

    const filer = await fetch(`http://127.0.0.1:${ports.filer}/buckets/kept/a/photo`)
    expect(filer.status).toBe(401)
    expect((await fetch(`${endpoint}/kept/a/photo`)).status).toBe(403)

    await server.stop()
    expect(existsSync(`/tmp/seaweedfs-s3-grpc-${ports.s3Grpc}.sock`)).toBe(false)
    expect(listenersOf(ports.s3)).toEqual([])
  })
})

async function query(connectionString: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** Local addresses that listen on this port, in the kernel's notation. */
function listenersOf(port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)
  const fields = rows.map((row) => row.trim().split(/\s+/))
  return fields
    .filter(([, local = '', , state]) => local.endsWith(suffix) && state === '0A')
    .map(([, local = '']) => local)
}
