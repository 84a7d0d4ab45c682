// Response times must not reveal accounts. Samples of both kinds alternate, so other load affects both alike, and are
// compared by rank. For a known address the password is hashed against the stored hash, for an unknown one against a
// dummy. Without the dummy the two kinds do not even overlap.
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenAccount, newEmail, newPassword } from '../support/app/sign-in/accounts.ts'
import { advantage } from '../support/app/sign-in/rank.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000', TRUSTED_PROXY_HOPS: '1' })

type Sample = { readonly ms: number; readonly status: number; readonly body: string }

async function take(path: string, body: unknown, network: string): Promise<Sample> {
  const startedAt = performance.now()
  const response = await fetch(`${world.api.url}/api/v1/app/auth${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': network },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  const { request_id: _, ...said } = JSON.parse(text) as Record<string, unknown>
  return { ms: performance.now() - startedAt, status: response.status, body: JSON.stringify(said) }
}

const rounds = 40
const bodies: Readonly<Record<string, (email: string) => Record<string, unknown>>> = {
  '/login': (email) => ({ email, password: newPassword() }),
  '/register': (email) => ({ email, password: newPassword() }),
  '/password/forgot': (email) => ({ email }),
  '/verify-email/resend': (email) => ({ email }),
}

describe('a response reveals no account', () => {
  it.each(Object.keys(bodies))('of %s: neither by its content nor by its time', async (path) => {
    const accounts = []
    for (let i = 0; i < 8; i += 1) accounts.push((await givenAccount(world)).email)
    const bodyOf = bodies[path] ?? (() => ({}))
    const known: number[] = []
    const unknown: number[] = []
    const answers = new Set<string>()
    for (let round = 0; round < rounds; round += 1) {
      // Networks and addresses with too few failures for a delay.
      const network = `198.51.100.${round}`
      const addresses = [accounts[round % accounts.length] ?? '', newEmail()]
      const order = round % 2 === 0 ? [0, 1] : [1, 0]
      for (const which of order) {
        const { ms, status, body } = await take(path, bodyOf(addresses[which] ?? ''), network)
        answers.add(`${status} ${body}`)
        ;(which === 0 ? known : unknown).push(ms)
      }
    }
    expect([...answers]).toHaveLength(1)
    // 0.5: ranks reveal nothing; 0 or 1: they reveal everything. With 40 samples of each, 0.5 ± 0.3 is more than four
    // standard deviations if there is no difference.
    const found = advantage(known, unknown)
    expect(found).toBeGreaterThan(0.2)
    expect(found).toBeLessThan(0.8)
  })
})
