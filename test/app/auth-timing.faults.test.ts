// What an answer's time says of an account. Samples of both kinds are taken in turn, so that whatever else the machine
// does falls on both alike, and are compared by their ranks: with a known address the password is hashed against the
// stored one, with an unknown one against nobody's. Without that hash the two kinds do not even overlap.
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

describe('an answer says nothing of an account', () => {
  it.each(Object.keys(bodies))('at %s: neither its words nor its time', async (path) => {
    const accounts = []
    for (let i = 0; i < 8; i += 1) accounts.push((await givenAccount(world)).email)
    const bodyOf = bodies[path] ?? (() => ({}))
    const known: number[] = []
    const unknown: number[] = []
    const answers = new Set<string>()
    for (let round = 0; round < rounds; round += 1) {
      // Networks and addresses that have not failed so often that they would be slowed down.
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
    // 0.5: ranks tell nothing; 0 or 1: they tell everything. With 40 of each 0.5 ± 0.3 is more than four standard
    // deviations when there is no difference.
    const found = advantage(known, unknown)
    expect(found).toBeGreaterThan(0.2)
    expect(found).toBeLessThan(0.8)
  })
})
