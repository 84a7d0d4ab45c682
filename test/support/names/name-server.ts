// A name server of a test's own: UDP on loopback, with the records that it is given, and a list of what it was asked.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'

/** Of one name. Without addresses it exists and has none; a name that is not there does not exist. */
export type NameRecord = { readonly addresses: readonly string[]; readonly ttlSeconds: number }

export type NameServer = {
  /** `address:port`. */
  readonly address: string
  readonly records: Map<string, NameRecord>
  /** Names asked for IPv4, in order: one for each look-up. */
  readonly asked: string[]
  /** `hang`: no answer at all; `fail`: SERVFAIL. */
  mode: 'answer' | 'hang' | 'fail'
  close(): Promise<void>
}

const types = { ipv4: 1, ipv6: 28 }
const codes = { noError: 0, serverFailure: 2, noSuchName: 3 }
const headerBytes = 12

export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const server: NameServer = {
    address: `127.0.0.1:${socket.address().port}`,
    records: new Map(),
    asked: [],
    mode: 'answer',
    close: async () => {
      socket.close()
      await once(socket, 'close')
    },
  }
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = readQuestion(query)
    if (type === types.ipv4) server.asked.push(name)
    if (server.mode === 'hang') return
    const record = server.records.get(name)
    const code = server.mode === 'fail' ? codes.serverFailure : record ? codes.noError : codes.noSuchName
    const addresses = code === codes.noError ? (record?.addresses ?? []) : []
    const fitting = addresses.filter((each) => isIPv6(each) === (type === types.ipv6))
    const answers = fitting.map((each) => resource(type, record?.ttlSeconds ?? 0, each))
    const header = Buffer.from(query.subarray(0, headerBytes))
    header.writeUInt16BE(0x8180 | code, 2) // an answer, recursion wanted and there
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(answers.length, 6)
    header.writeUInt32BE(0, 8)
    socket.send(Buffer.concat([header, query.subarray(headerBytes, end), ...answers]), port, address)
  })
  return server
}

function readQuestion(query: Buffer) {
  const labels: string[] = []
  let at = headerBytes
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** A record of the name in the question, to which 0xc00c points. */
function resource(type: number, ttlSeconds: number, address: string): Buffer {
  const data = type === types.ipv6 ? ipv6Bytes(address) : Buffer.from(address.split('.').map(Number))
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(ttlSeconds, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

/** Of an address with at most one `::`. */
function ipv6Bytes(address: string): Buffer {
  const [before = [], after = []] = address.split('::').map((part) => part.split(':').filter(Boolean))
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
