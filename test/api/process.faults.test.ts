import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { freePorts, nodeEnv } from '../support/free-ports.ts'
import { until } from '../support/until.ts'

const database = useDatabase()
const main = fileURLToPath(import.meta.resolve('@matte/api/main'))
let child: ChildProcess | undefined
afterEach(() => {
  child?.kill('SIGKILL')
})

function start(env: Record<string, string>) {
  let output = ''
  const started = spawn(process.execPath, [main], { env: { ...nodeEnv(), ...env } })
  child = started
  for (const stream of [started.stdout, started.stderr]) {
    stream.on('data', (bytes: Buffer) => {
      output += bytes.toString()
    })
  }
  const exit = new Promise<number | null>((resolve) => started.once('exit', resolve))
  return { process: started, exit, output: () => output }
}

async function startReady(more: Record<string, string> = {}) {
  const [port = 0, healthPort = 0] = await freePorts(2)
  const url = `http://127.0.0.1:${port}`
  const run = start({
    HOST: '127.0.0.1',
    PORT: String(port),
    HEALTH_PORT: String(healthPort),
    PUBLIC_URL: url,
    DATABASE_URL: database.url,
    NATS_URL: 'nats://127.0.0.1:1',
    S3_ENDPOINT: inject('storeEndpoint'),
    S3_ACCESS_KEY_ID: inject('storeAccessKeyId'),
    S3_SECRET_ACCESS_KEY: inject('storeSecretAccessKey'),
    MASTER_KEYS: `test:${Buffer.alloc(32, 1).toString('base64')}`,
    DRAIN_MS: '0',
    ...more,
  })
  await until('the API is ready', async () => (await fetch(`${url}/readyz`)).ok)
  return { url, port, ...run }
}

async function openConnection(port: number) {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const closed = once(socket, 'close')
  const ask = async (): Promise<string> => {
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    return bytes.toString().toLowerCase().replace('http', 'HTTP')
  }
  return { ask, closed }
}

describe('the API process', () => {
  it('exits with 0 after SIGTERM, with or without idle connections', async () => {
    const { process: running, exit, output, url } = await startReady()
    await (await fetch(`${url}/healthz`)).text() // its connection stays open
    running.kill('SIGTERM')
    expect(await exit).toBe(0)
    expect(output()).toContain('process stopped')
  })

  it('warns once that it does not trust X-Forwarded-For from a private peer, unless configured', async () => {
    const headers = { 'x-forwarded-for': '198.51.100.1' }
    const counted = async (more: Record<string, string>) => {
      const { process: running, exit, output, url } = await startReady(more)
      for (let i = 0; i < 5; i++) await (await fetch(`${url}/healthz`, { headers })).text()
      running.kill('SIGTERM')
      await exit
      return output().split('X-Forwarded-For is ignored').length - 1
    }
    expect(await counted({})).toBe(1)
    expect(await counted({ TRUSTED_PROXY_HOPS: '1' })).toBe(0)
  })

  it('exits at once despite an open connection without a single byte', async () => {
    const { process: running, exit, output, port } = await startReady({ STOP_WITHIN_MS: '600000' })
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    await until('the API has taken the connection', () => fetch(`http://127.0.0.1:${port}/healthz`))
    running.kill('SIGTERM')
    expect(await exit).toBe(0)
    expect(output()).toContain('process stopped')
  }, 45_000) // Node itself would wait a minute for it

  it('completes the request in progress at SIGTERM', async () => {
    const { process: running, exit, output, port } = await startReady()
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    socket.on('data', (bytes) => {
      answer += bytes.toString()
    })
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const body = '{"fileName":"a.png","contentType":"image/png"}'
    const head = `POST /matte/none HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\nContent-Type: application/json\r\n\r\n`
    socket.write(head + body.slice(0, 5))
    await until('the connection is open', () => socket.readyState === 'open')
    running.kill('SIGTERM')
    await until('the process is stopping', () => output().includes('process stopping'))
    socket.write(body.slice(5))
    await closed
    expect(answer).toMatch(/^HTTP\/1\.1 404 /)
    expect(await exit).toBe(0)
  })

  it('serves one more request per idle connection, and new connections, until traffic has moved', async () => {
    const { process: running, exit, output, port } = await startReady({ DRAIN_MS: '25000' })
    const idle = await openConnection(port)
    expect(await idle.ask()).toMatch(/^HTTP\/1\.1 200 [\s\S]*keep-alive/)
    running.kill('SIGTERM')
    await until('the process is stopping', () => output().includes('process stopping'))
    const late = await openConnection(port)
    for (const connection of [idle, late]) {
      expect(await connection.ask()).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close/)
      await connection.closed
    }
    running.kill('SIGTERM') // the second signal ends the wait
    await exit
  })

  it('lists every missing or invalid variable, shows no value, and exits with 2', async () => {
    const { exit, output } = start({ S3_BUCKET: 'api-files', MASTER_KEYS: 'one:c2hvcnQ=', PUBLIC_URL: 'matte.example' })
    expect(await exit).toBe(2)
    for (const variable of ['DATABASE_URL', 'NATS_URL', 'S3_ENDPOINT', 'S3_BUCKET', 'MASTER_KEYS', 'PUBLIC_URL']) {
      expect(output()).toContain(variable)
    }
    expect(output()).not.toContain('c2hvcnQ')
  })
})
