import { describe, expect, it } from 'vitest'
import { readJsonLines } from './json-lines.ts'

async function* inPieces(text: string, sizeBytes: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += sizeBytes) yield bytes.subarray(at, at + sizeBytes)
}

async function read(
  text: string,
  { sizeBytes = 1_000, lineMaxBytes = 100, onData = () => {} } = {},
): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of readJsonLines(inPieces(text, sizeBytes), { lineMaxBytes, onData })) values.push(value)
  return values
}

describe('readJsonLines', () => {
  it('yields one value per line, even if a chunk ends within a character', async () => {
    const text = '{"a":"ä€😀"}\n\n[1]\n{"b":2}\n'
    for (const sizeBytes of [1, 2, 3, 5, 7, 1_000]) {
      expect(await read(text, { sizeBytes })).toEqual([{ a: 'ä€😀' }, [1], { b: 2 }])
    }
  })

  it('calls onData for every chunk, even without a complete line', async () => {
    let pieces = 0
    const onData = (): void => {
      pieces += 1
    }
    await read('{"a":1}\n', { sizeBytes: 2, onData })
    expect(pieces).toBe(4)
  })

  it('rejects a line as soon as it is too long', async () => {
    for (const text of [`"${'x'.repeat(100)}"\n`, `"${'x'.repeat(100)}`]) {
      await expect(read(text, { sizeBytes: 10 })).rejects.toMatchObject({ reason: 'TooLarge' })
    }
    expect(await read(`"${'x'.repeat(98)}"\n`)).toHaveLength(1)
  })

  it('throws on a line that it cannot parse', async () => {
    await expect(read('{"a":1}\nno\n')).rejects.toMatchObject({ reason: 'BadAnswer' })
    await expect(read('{"a":1}\n{"b"')).rejects.toMatchObject({ reason: 'BadAnswer' })
  })
})
