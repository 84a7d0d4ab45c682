// The plan of the first person of an installation (ACCOUNTS_FIRST_PLAN).
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { newPassword, type SignedIn } from '../support/app/sign-in/accounts.ts'
import { tokensTo } from '../support/app/sign-in/inbox.ts'

type World = ReturnType<typeof useApi>

const newEmail = (): string => `p${randomBytes(6).toString('hex')}@example.com`

async function register(world: World) {
  const email = newEmail()
  const password = newPassword()
  const open = createAppClient(world.api.url)
  await open.call('POST', '/auth/register', { body: { email, password } })
  const [token] = await tokensTo(world, email, { template: 'verify-email' })
  return async () => {
    const { data } = await open.call<SignedIn>('POST', '/auth/verify-email', { body: { token, password } })
    const client = createAppClient(world.api.url, data.accessToken)
    const { plan, limits } = (
      await client.call<{ plan: string; limits: { apiAccess: boolean } }>('GET', '/users/subscription')
    ).data
    return {
      client,
      plan,
      apiAccess: limits.apiAccess,
      erase: () => client.call('DELETE', '/users/profile', { body: { password } }),
    }
  }
}

describe('the first person of an installation', () => {
  const world = useApi({ ACCOUNTS_FIRST_PLAN: 'internal', OPEN_REQUESTS_PER_MINUTE: '1000000' })

  it('is the first who verifies an address, and gets the plan of the operator and a key that works', async () => {
    const [never, first, second] = [await register(world), await register(world), await register(world)]
    const both = await Promise.all([first(), second()])
    expect(both.map(({ plan }) => plan).sort()).toEqual(['free', 'internal'])
    const owner = both.find(({ plan }) => plan === 'internal')
    expect(owner?.apiAccess).toBe(true)
    const body = { name: 'k' }
    const made = await owner?.client.call<{ key: string }>('POST', '/developer/api-keys', { body })
    expect((await world.api.client(made?.data.key ?? '').listTasks()).total).toBe(0)
    expect((await never()).plan).toBe('free')
  })

  it('is not the next one after an erasure', async () => {
    const person = await (await register(world))()
    await person.erase()
    await world.db.updateTable('app_user').set({ email_verified_at: null }).execute()
    expect((await (await register(world))()).plan).toBe('free')
  })
})

describe('without the setting', () => {
  const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' })

  it('the first person gets the plan Free, as everyone', async () => {
    expect(await (await register(world))()).toMatchObject({ plan: 'free', apiAccess: false })
  })
})
