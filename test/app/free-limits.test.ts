// Free workspaces cost nothing to create, so one limit applies to a person's requests to all of them.
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givenKeyOf, givenTeam } from '../support/app/teams.ts'
import type { ApiError } from '../support/client.ts'

const limit = 20
const world = useApi({ PLANS: JSON.stringify({ free: { requestsPerMinute: limit } }) })

type Seen = { readonly status: number; readonly limit: unknown; readonly reset: string; readonly remaining: number }

const ask = async ({ client }: Person, path: string): Promise<Seen> => {
  const seen = ({ status, headers }: Pick<ApiError, 'status' | 'headers'>, limit?: unknown): Seen => ({
    ...{ status, limit },
    reset: headers.get('x-ratelimit-reset') ?? '',
    remaining: Number(headers.get('x-ratelimit-remaining')),
  })
  return client.call('GET', path).then(seen, (error: ApiError) => seen(error, error.details.limit))
}

/** A team on this plan, with the person as a member. */
async function givenMembership({ userId }: Person, plan: string) {
  const team = await givenTeam(world, { plan, credits: 0 })
  await world.db.insertInto('membership').values({ workspace_id: team.id, user_id: userId, role: 'member' }).execute()
  return team
}

const given = () => givenPerson(world.db, world.api, { plan: 'free', credits: 0 })

describe('a person with many Free workspaces', () => {
  it('has the requests of one, and uses none of other members, paid workspaces or API keys', async () => {
    const person = await given()
    const [one, two, paid] = [
      await givenMembership(person, 'free'),
      await givenMembership(person, 'free'),
      await givenMembership(person, 'pro'),
    ]
    const paths = ['/credits/balance', one.path, two.path, '/users/profile']
    const answers = await Promise.all(Array.from({ length: 4 * limit }, (_, i) => ask(person, paths[i % 4] ?? '')))
    // A minute may end meanwhile, so there are two windows at most.
    for (const window of Map.groupBy(answers, ({ reset }) => reset).values()) {
      expect(window.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(limit)
    }
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(limit)
    const refused = answers.filter(({ status }) => status === 429)
    expect(new Set(refused.map(({ limit, remaining }) => `${limit} ${remaining}`))).toContain('person 0')
    expect(await ask(one.owner, one.path)).toMatchObject({ status: 200 })
    expect(await ask(person, paid.path)).toMatchObject({ status: 200 })
    const { key } = await givenKeyOf(world.db, paid.id, person.userId)
    await expect(world.api.client(key).listTasks()).resolves.toMatchObject({ items: [] })
  })

  it('gets X-RateLimit-Remaining for the requested workspace', async () => {
    const person = await given()
    const [one, two] = [await givenMembership(person, 'free'), await givenMembership(person, 'free')]
    for (let i = 0; i < 3; i += 1) await ask(person, one.path)
    expect(await ask(person, two.path)).toMatchObject({ status: 200, remaining: limit - 1 })
  })
})

describe('a Free workspace with several members', () => {
  it('has its own limit over all its members', async () => {
    const team = await givenTeam(world, { plan: 'free', credits: 0 })
    const members = [team.owner, await team.member('member'), await team.member('member')]
    const answers = await Promise.all(
      Array.from({ length: 3 * (limit - 2) }, (_, i) => ask(members[i % 3] as Person, team.path)),
    )
    for (const window of Map.groupBy(answers, ({ reset }) => reset).values()) {
      expect(window.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(limit)
    }
    expect(answers.find(({ status }) => status === 429)).toMatchObject({ limit: 'requests', remaining: 0 })
  })
})
