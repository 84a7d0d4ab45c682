import { Socket } from 'node:net'
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
