// A DNS server on this machine, and the resolvers of this program that ask it.
import { createSocket } from 'node:dgram'
import dns from 'node:dns/promises'
import { once } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'

export type NameServer = {
  /** Names that were asked for, in order. */
  readonly asked: readonly string[]
  close(): Promise<void>
}

/** Answers with the IPv4 address of a name; all other names do not exist. */
export async function startNameServer(addresses: Readonly<Record<string, string>>): Promise<NameServer> {
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = readQuestion(query)
    asked.push(name)
    const found = addresses[name]
    const header = Buffer.from(query.subarray(0, 12))
    header.writeUInt16BE(found === undefined ? 0x8183 : 0x8180, 2)
    const answer = found !== undefined && type === typeA ? answerOf(found) : Buffer.alloc(0)
    header.writeUInt16BE(answer.length > 0 ? 1 : 0, 6)
    header.writeUInt32BE(0, 8)
    socket.send(Buffer.concat([header, query.subarray(12, end), answer]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const restore = askAlone(`127.0.0.1:${socket.address().port}`)
  return {
    asked,
    close: async () => {
      restore()
      socket.close()
      await once(socket, 'close')
    },
  }
}

const typeA = 1

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length).toLowerCase())
    at += 1 + length
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** One record for the name of the question, valid for 0 s. */
const answerOf = (address: string): Buffer =>
  Buffer.from([0xc0, 12, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)])

/** New resolvers ask this server in place of those in /etc/resolv.conf, which belong to the machine. */
function askAlone(server: string): () => void {
  const { Resolver } = dns
  dns.Resolver = class extends Resolver {
    constructor(...options: ConstructorParameters<typeof Resolver>) {
      super(...options)
      this.setServers([server])
    }
  }
  syncBuiltinESMExports()
  return () => {
    dns.Resolver = Resolver
    syncBuiltinESMExports()
  }
}
