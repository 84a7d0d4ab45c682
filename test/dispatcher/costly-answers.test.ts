// Hostile receivers against the memory and CPU of the dispatcher, for webhooks and for images by URL.
import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createDownloader } from '@matte/dispatcher/egress/download'
import type { RouteOptions } from '@matte/dispatcher/egress/receiver-routes'
import { describe, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { client, closeAfterEach, given, post } from './given-client.ts'
import { startRawReceiver } from './receiver.ts'
import { internetOf, publicAddress } from './small-internet.ts'

closeAfterEach()

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Bytes of buffers that something refers to, once the collector has counted them. */
function inUse(): number {
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

type Attempt = (options: Partial<RouteOptions>) => Promise<unknown>

const attempts: readonly (readonly [string, Attempt])[] = [
  ['a webhook', async (options) => post(await client(options), `http://${publicAddress}/`)],
  [
    'an image by URL',
    async (options) => {
      const { download } = await given(createDownloader({ deniedNetworks: [], timeoutMs: 30_000, ...options }))
      return download({ url: `http://${publicAddress}/`, maxBytes: 1_000_000, signal: new AbortController().signal })
    },
  ],
]

/** Calls `behave` with each connection once it has a request. */
const receiverThat = (behave: (socket: Socket) => void) =>
  given(startRawReceiver((socket) => void socket.once('data', () => behave(socket))))

describe('one byte in each packet of 60 KB', () => {
  const signature = Buffer.from('\x89PNG\r\n\x1a\n0000', 'latin1').toString('latin1')
  const begin = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n${signature}\r\n`
  const packet = `1;${'e'.repeat(60_000)}\r\nx\r\n`
  const packets = 1_000

  it.each(attempts)('does not keep the packets in memory, for %s', async (_what, attempt) => {
    const receiver = await receiverThat((socket) => {
      socket.write(begin, 'latin1')
      let sent = 0
      const send = (): void => {
        while (sent < packets) {
          sent += 1
          if (!socket.write(packet)) return void socket.once('drain', send)
        }
      }
      send()
    })
    const { dial } = internetOf(receiver)
    const before = inUse()
    let read = () => 0
    const attempted = attempt({
      dial: (options) => {
        const socket = dial(options)
        read = () => socket.bytesRead
        return socket
      },
    })
    await until('all packets are read', () => read() >= begin.length + packets * packet.length)
    await until('their memory is free', () => inUse() - before < (packets * packet.length) / 4, { timeoutMs: 20_000 })
    for (const socket of receiver.connections) socket.destroy()
    await attempted
  })
})

describe('headers above the limit', () => {
  const bytes = 65_536
  const head = 'HTTP/1.1 200 OK\r\n'
  const headers = `${head}${'a:b\r\n'.repeat(bytes / 5)}`
  const body = `${head}Content-Length: ${bytes}\r\n\r\n\x89PNG\r\n\x1a\n0000${'x'.repeat(bytes - 12)}`
  const times = 20

  /** CPU time of attempts at a receiver that sends this; its own is part of it. */
  async function cost(attempt: Attempt, sent: string): Promise<number> {
    const receiver = await receiverThat((socket) => socket.write(sent, 'latin1'))
    const before = process.cpuUsage()
    for (let i = 0; i < times; i++) await attempt(internetOf(receiver))
    const { user, system } = process.cpuUsage(before)
    return user + system
  }

  it.each(attempts)('cost no more than forty times a body of their size, for %s', async (_what, attempt) => {
    await cost(attempt, headers) // compiles
    await cost(attempt, body)
    const [ofHeaders, ofBody] = [await cost(attempt, headers), await cost(attempt, body)]
    process.stdout.write(`headers ${Math.round(ofHeaders / times)} µs, a body ${Math.round(ofBody / times)} µs\n`)
    expect(ofHeaders / ofBody).toBeLessThan(40)
  })
})
