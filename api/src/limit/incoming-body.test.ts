import { once } from 'node:events'
import { createServer, ServerResponse } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { IncomingBody } from './incoming-body.ts'

const bytes = Buffer.from(Array.from({ length: 50_000 }, (_, index) => index % 251))

function given(headers: readonly string[]) {
  const body = new IncomingBody(new Socket())
  body.rawHeaders = [...headers]
  const pieces: Buffer[] = []
  body.on('data', (piece: Buffer) => pieces.push(piece))
  return { body, pieces }
}

it('joins single bytes into blocks of 16 KiB, and keeps each byte', async () => {
  const { body, pieces } = given(['Content-Length', '50000'])
  for (const byte of bytes) body.push(Buffer.of(byte))
  body.complete = true
  body.push(null)
  await turn()
  expect(pieces.map(({ length }) => length)).toEqual([16_384, 16_384, 16_384, 848])
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true)
})

it('joins small pieces with large ones in their order', async () => {
  const { body, pieces } = given([])
  const starts = [0, 1, 20_001, 20_004, 36_387, 36_389]
  for (const [index, start] of starts.entries()) body.push(bytes.subarray(start, starts[index + 1]))
  body.complete = true
  body.push(null)
  await turn()
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true)
})

it('passes on what has arrived, although it makes no block', async () => {
  const { body, pieces } = given(['Content-Length', '9'])
  body.passOn()
  body.push(Buffer.from('a'))
  body.push(Buffer.from('b'))
  await turn()
  await turn()
  expect(Buffer.concat(pieces).toString()).toBe('ab')
})

it('takes nothing more of a read after too many chunks, and all of the next request that its parser reads', async () => {
  let received = 0
  class CountedBody extends IncomingBody {
    override push(chunk: Buffer | null): boolean {
      if (chunk !== null) received += 1
      return super.push(chunk)
    }
  }
  const server = createServer({ IncomingMessage: CountedBody, ServerResponse }, (request, response) => {
    const end = () => response.writeHead(200, { connection: 'close' }).end()
    request.once('fault', end).once('end', end).resume()
  })
  server.listen(0)
  await once(server, 'listening')
  const send = async (body: string): Promise<void> => {
    const socket = connect((server.address() as AddressInfo).port).resume()
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${body}`)
    await once(socket, 'close')
  }
  await send('1\r\na\r\n'.repeat(5_000))
  expect(received).toBe(1_001)
  await send(`${'1\r\na\r\n'.repeat(9)}0\r\n\r\n`)
  expect(received).toBe(1_010)
  server.close()
})
