import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { Counter, Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { healthServer, readiness } from './health.ts'

describe('readiness', () => {
  let nowMs = 0
  let runs = 0
  let answer: PromiseWithResolvers<string | undefined>
  const counted = (): undefined => {
    runs += 1
  }
  const ready = () => readiness({ database: () => answer.promise, counted }, { monotonicMs: () => nowMs })

  beforeEach(() => {
    nowMs = 0
    runs = 0
    answer = Promise.withResolvers()
  })

  it('shares a run of checks among concurrent callers', async () => {
    const ask = ready()
    const asked = Array.from({ length: 1_000 }, ask)
    answer.resolve(undefined)
    const answers = await Promise.all(asked)
    expect(new Set(answers)).toEqual(new Set([answers[0]]))
    expect(answers[0]).toEqual({ ready: true, checks: { database: 'ok', counted: 'ok' } })
    expect(runs).toBe(1)
  })

  it('caches a result for a second, even a failure', async () => {
    const ask = ready()
    const first = ask()
    nowMs = 1_500
    answer.reject(new Error('internal words'))
    expect(await first).toEqual({ ready: false, checks: { database: 'unavailable', counted: 'ok' } })
    answer = Promise.withResolvers()
    answer.resolve('no')
    nowMs = 2_499
    expect(await ask()).toBe(await first)
    nowMs = 2_500
    expect(await ask()).toEqual({ ready: false, checks: { database: 'no', counted: 'ok' } })
    expect(runs).toBe(2)
  })

  it('times out checks, and does not restart a running one', async () => {
    let begun = 0
    const hanging = () => {
      begun += 1
      return answer.promise
    }
    const ask = readiness({ database: hanging }, { monotonicMs: () => nowMs, timeoutMs: 1 })
    const late = { ready: false, checks: { database: 'no answer in time' } }
    expect(await ask()).toEqual(late)
    nowMs = 1_000
    expect(await ask()).toEqual(late)
    expect(begun).toBe(1)
    answer.resolve(undefined)
    await new Promise(setImmediate) // until the check has settled
    nowMs = 2_000
    expect(await ask()).toEqual({ ready: true, checks: { database: 'ok' } })
    expect(begun).toBe(2)
  })
})

describe('the probe port', () => {
  let server: ReturnType<typeof healthServer>
  let sockets: Socket[]
  let renderings: number

  beforeEach(async () => {
    sockets = []
    renderings = 0
    const registry = new Registry()
    const collect = (): void => {
      renderings += 1
    }
    new Counter({ name: 'large_total', help: 'x'.repeat(100_000), registers: [registry], collect })
    server = healthServer({ host: '127.0.0.1', port: 0, readiness: readiness({}), registry })
    await server.start()
  })
  afterEach(async () => {
    for (const socket of sockets) socket.destroy()
    await server.stop()
  })

  function open(localAddress = '127.0.0.1'): Socket {
    const socket = connect({ port: server.port(), host: '127.0.0.1', localAddress })
    sockets.push(socket.on('error', () => undefined))
    return socket
  }
  const closed = (socket: Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const head = (path: string, ...fields: string[]) =>
    [`GET ${path} HTTP/1.1`, 'Host: a', ...fields, '', ''].join('\r\n')

  it('closes a connection whose client sends 2,000 requests and reads no response', async () => {
    const socket = open()
    socket.write(head('/metrics').repeat(2_000))
    const closing = closed(socket)
    socket.resume()
    await closing
    expect(renderings).toBeLessThan(20)
  })

  it('answers a request with a body, and reads none of it', async () => {
    const socket = open()
    socket.write(head('/healthz', 'Transfer-Encoding: chunked'))
    expect(await text(socket)).toMatch(/^HTTP\/1.1 200 .*connection: close/is)
  })

  it('answers others while one address holds as many connections as it can', async () => {
    const held = Array.from({ length: 300 }, () => open())
    await Promise.race(held.map(closed))
    for (const socket of held) socket.write('GET /')
    const socket = open('127.0.0.2')
    socket.write(head('/healthz', 'Connection: close'))
    expect(await text(socket)).toMatch(/^HTTP\/1.1 200/)
    expect(held.filter(({ destroyed }) => !destroyed).length).toBeLessThanOrEqual(64)
  })
})
