// Peak memory of an API process while it reads the same bytes in one chunk and in chunks of one byte.
import { writeFileSync } from 'node:fs'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { describe, expect, it } from 'vitest'
import { inChunks, lastChunk, openRequest } from '../support/raw-request.ts'
import { useStack } from '../support/stack.ts'
import { until } from '../support/until.ts'

const stack = useStack({ processes: [], env: { api: { DOORS_REMOVEBG: 'true' } } })
const mb = 1_048_576

const attacks = [
  {
    of: 'events of the payment provider',
    target: 'POST /api/v1/app/payments/providers/sandbox/events',
    headers: { 'Sandbox-Signature': 't=1,v1=none' },
    requests: 8,
    bytes: mb - 1,
  },
  {
    of: 'a login',
    target: 'POST /api/v1/app/auth/login',
    headers: { 'Content-Type': 'application/json' },
    requests: 24,
    bytes: mb - 1,
  },
  {
    of: 'the door for remove.bg',
    target: 'POST /v1.0/removebg',
    headers: { 'Content-Type': 'application/json' },
    requests: 1,
    bytes: 14 * mb,
  },
]

type Attack = (typeof attacks)[number]

/** Bodies that a fresh process reads at once; returns its peak resident memory. */
async function peakOf({ target, headers, requests, bytes }: Attack, bytesPerChunk: number): Promise<number> {
  const api = await stack.start('api')
  const all = { ...headers, 'X-API-Key': await givenKey(), 'Transfer-Encoding': 'chunked' }
  const body = inChunks('a'.repeat(bytes), bytesPerChunk) + lastChunk
  writeFileSync(`/proc/${api.pid}/clear_refs`, '5') // resets the peak
  const sent = Array.from({ length: requests }, (_, index) =>
    openRequest({ url: api.url, target, headers: all, from: `127.0.0.${index + 2}` }),
  )
  for (const { write } of sent) write(body)
  await until('each is answered', () => !api.isAlive() || sent.every(({ isOver }) => isOver()))
  expect(api.isAlive()).toBe(true)
  for (const { destroy } of sent) destroy()
  const peak = api.peakMemoryBytes()
  await api.stop()
  return peak
}

async function peakOfBody({ target, headers }: Pick<Attack, 'target' | 'headers'>, body: string): Promise<number> {
  const api = await stack.start('api')
  writeFileSync(`/proc/${api.pid}/clear_refs`, '5')
  const [method, path] = target.split(' ')
  const all = { ...headers, 'X-API-Key': await givenKey() } as Record<string, string>
  const response = await fetch(`${api.url}${path}`, { method: method ?? '', headers: all, body })
  expect([response.status, api.isAlive()]).toEqual([400, true])
  const peak = api.peakMemoryBytes()
  await api.stop()
  return peak
}

async function givenKey(): Promise<string> {
  const key = generateApiKey()
  const row = { workspaceId: stack.workspaceId, name: 'test', scopes, expiresAt: null }
  await insertApiKey(stack.db, key, row)
  return key.key
}

describe('chunks of one byte', () => {
  it.each(attacks)('of $of cost no more memory than the same bytes in one chunk', async (attack) => {
    const [small, one] = [await peakOf(attack, 1), await peakOf(attack, attack.bytes)]
    process.stdout.write(`${attack.of}: ${Math.round(small / mb)} MiB, and ${Math.round(one / mb)} MiB in one chunk\n`)
    expect(small / one).toBeLessThan(1.5)
  })
})

describe('a field of the door for remove.bg with millions of words', () => {
  it('costs no more memory than an image of its size', async () => {
    const api = { target: 'POST /v1.0/removebg', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }
    const peakFor = (body: string) => peakOfBody(api, `image_file_b64=AAAA${body}`)
    const words = await peakFor(`&crop_margin=${'1+'.repeat(6.5 * mb)}`)
    const image = await peakFor('A'.repeat(13 * mb))
    process.stdout.write(`words: ${Math.round(words / mb)} MiB, and an image ${Math.round(image / mb)} MiB\n`)
    expect(words / image).toBeLessThan(1.5)
  })
})
