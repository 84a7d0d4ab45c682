import { expect, it } from 'vitest'
import type { ManifestStore } from '../options.ts'
import { type Entry, openManifest, parseManifest } from './manifest.ts'

const header = '{"matte":"manifest","version":1}\n'
const entry = (key: string, changes: Partial<Entry> = {}): Entry => ({
  key,
  input: 'print',
  state: 'creating',
  idempotencyKey: 'key-1',
  objectKey: 'private-uploads/1',
  at: '2026-11-21T09:30:00.000Z',
  ...changes,
})
const lineOf = (one: Entry) => `${JSON.stringify(one)}\n`

function memoryStore(text = ''): ManifestStore & { text(): string; writes: string[] } {
  const writes: string[] = []
  return {
    read: async () => text,
    append: async (more) => {
      writes.push(more)
      text += more
    },
    text: () => text,
    writes,
  }
}

it('keeps the last line of each key', () => {
  const done = entry('a', { state: 'done', taskId: '1' })
  const entries = parseManifest(header + lineOf(entry('a')) + lineOf(entry('b')) + lineOf(done))
  expect([...entries.values()]).toEqual([done, entry('b')])
})

it('reads every manifest that a crash has cut, at any byte', () => {
  const whole = header + lineOf(entry('a')) + lineOf(entry('b'))
  const sizes = Array.from(whole, (_, end) => parseManifest(whole.slice(0, end)).size)
  expect(Math.max(...sizes)).toBe(2)
  expect(sizes.filter((size) => size === 0).length).toBeGreaterThanOrEqual(header.length)
})

it('continues on a new line after a torn one', async () => {
  const store = memoryStore(header + lineOf(entry('a')) + lineOf(entry('b')).slice(0, 20))
  const manifest = await openManifest(store)
  expect(manifest.find('b', 'print')).toBeUndefined()
  await manifest.record(entry('c'))
  expect([...parseManifest(store.text()).keys()]).toEqual(['a', 'c'])
})

it.each(['', header.slice(0, 9), header.trim()])('completes a header that begins with %j', async (text) => {
  const store = memoryStore(text)
  await (await openManifest(store)).record(entry('a'))
  expect(store.text()).toBe(header + lineOf(entry('a')))
})

it.each(['\x89PNG', '{"a":1}\n', 'a,b\nc,d\n'])('refuses a file of another kind: %j', async (text) => {
  const store = memoryStore(text)
  await expect(openManifest(store)).rejects.toMatchObject({ code: 'CLIENT_CONFIG' })
  expect(store.writes).toEqual([])
})

it('finds an entry of the same input only', async () => {
  const manifest = await openManifest(memoryStore(header + lineOf(entry('a'))))
  expect(manifest.find('a', 'print')).toEqual(entry('a'))
  expect(manifest.find('a', 'other')).toBeUndefined()
})

it('writes the lines that wait for a write together', async () => {
  const store = memoryStore(header)
  const manifest = await openManifest(store)
  await Promise.all(['a', 'b', 'c'].map((key) => manifest.record(entry(key))))
  expect(store.writes.join('')).toBe(['a', 'b', 'c'].map((key) => lineOf(entry(key))).join(''))
  expect(store.writes.length).toBeLessThan(3)
})

it('rejects a record that cannot be stored', async () => {
  const manifest = await openManifest({
    read: async () => header,
    append: async () => Promise.reject(new Error('disk full')),
  })
  await expect(manifest.record(entry('a'))).rejects.toThrow('disk full')
  await expect(manifest.record(entry('b'))).rejects.toThrow('disk full')
})
