// Load generator, a separate program so it can be pinned to one core. Uses raw sockets and prepared requests, and reads
// only status, length and `Retry-After` of each response. `node generator.ts FILE`: FILE has a `Load` as JSON; prints a
// `Measured` as JSON.
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import type { Load, Measured } from './load.ts'

const { port, requests, connections, seconds, warmupSeconds, rate } = JSON.parse(
  readFileSync(process.argv[2] ?? '', 'utf8'),
) as Load

type Connection = { readonly socket: Socket; dueAtMs: number; buffered: string; busy: boolean }

const begun = performance.now()
const measureFromMs = begun + warmupSeconds * 1_000
const endMs = measureFromMs + seconds * 1_000
const latencies = new Map<number, number[]>()
const retryAfters = new Set<string>()
const idle: Connection[] = []
/** Open loop: due times of requests that wait for a connection. */
const backlog: number[] = []
let opened = 0
let broken = 0
let sent = 0
let missed = 0
let nextDueMs = begun

function open(): void {
  opened += 1
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true)
  socket.setEncoding('latin1')
  const connection: Connection = { socket, dueAtMs: 0, buffered: '', busy: false }
  socket.on('connect', () => free(connection))
  socket.on('data', (text: string) => read(connection, text))
  socket.on('error', () => undefined)
  socket.on('close', () => {
    opened -= 1
    if (connection.busy) broken += 1
    if (performance.now() < endMs) open()
  })
}

function free(connection: Connection): void {
  const nowMs = performance.now()
  const dueAtMs = rate === undefined ? nowMs : backlog.shift()
  if (nowMs >= endMs) connection.socket.destroy()
  else if (dueAtMs === undefined) idle.push(connection)
  else send(connection, dueAtMs)
}

function send(connection: Connection, dueAtMs: number): void {
  connection.dueAtMs = dueAtMs
  connection.busy = true
  connection.socket.write(requests[sent % requests.length] ?? '', 'latin1')
  sent += 1
}

function read(connection: Connection, text: string): void {
  connection.buffered += text
  const headEnd = connection.buffered.indexOf('\r\n\r\n')
  if (headEnd < 0) return
  const head = connection.buffered.slice(0, headEnd)
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
  if (connection.buffered.length < headEnd + 4 + length) return
  connection.buffered = ''
  connection.busy = false
  note(connection.dueAtMs, Number(head.slice(9, 12)), head)
  free(connection)
}

function note(dueAtMs: number, status: number, head: string): void {
  const nowMs = performance.now()
  if (nowMs < measureFromMs || nowMs > endMs) return
  const list = latencies.get(status) ?? []
  list.push(nowMs - dueAtMs)
  latencies.set(status, list)
  if (status === 429) retryAfters.add(/\r\nretry-after: (\S+)/i.exec(head)?.[1] ?? 'none')
}

/** Open loop: sends due requests; drops those beyond some seconds of backlog. */
function tick(perSecond: number): void {
  const nowMs = performance.now()
  for (; nextDueMs <= nowMs; nextDueMs += 1_000 / perSecond) {
    const connection = idle.pop()
    if (connection !== undefined) send(connection, nextDueMs)
    else if (backlog.length < perSecond * 5) backlog.push(nextDueMs)
    else missed += 1
    if (idle.length === 0 && backlog.length > 0 && opened < connections) open()
  }
}

const atOnce = rate === undefined ? connections : Math.min(connections, 64)
for (let i = 0; i < atOnce; i++) open()
/** Interval of the open loop, far below the measured latencies. 1 ms took 4 % of a core. */
const tickMs = 4
const ticks = rate === undefined ? undefined : setInterval(() => tick(rate), tickMs)

setTimeout(
  () => {
    clearInterval(ticks)
    const answers = Object.fromEntries(
      Array.from(latencies, ([status, list]) => {
        list.sort((a, b) => a - b)
        const at = (share: number): number => list[Math.min(list.length - 1, Math.floor(list.length * share))] ?? 0
        return [status, { perSecond: list.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99) }]
      }),
    )
    const measured: Measured = { answers, retryAfters: [...retryAfters], broken, missed, connections: opened }
    process.stdout.write(JSON.stringify(measured), () => process.exit())
  },
  endMs - begun + 200,
)
