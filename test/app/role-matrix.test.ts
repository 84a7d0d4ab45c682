// Every operation of the App API with every kind of caller. Operations come from the service's own document, which
// contains every route (access.ts refuses to start otherwise), so new ones are covered.
import { generateApiKey } from '@matte/core/workspace/api-key'
import { type Role, roles } from '@matte/core/workspace/role'
import { beforeAll, describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { malformedBodyOf, type Operation, readOperations, send } from '../support/app/operations.ts'
import { givenPerson, type Person, type PersonOptions } from '../support/app/people.ts'
import { forgeToken } from '../support/app/sign-in/forged-token.ts'
import { addressOf, givenVictim, makers, type Victim } from './victim.ts'

const operations = await readOperations()
const byAccess = (wanted: string | undefined) => operations.filter((operation) => operation['x-access'] === wanted)
const [ofSelf, ofEverybody, ofProviders] = [byAccess('self'), byAccess('open'), byAccess('provider')]
const ofMembers = operations.filter((operation) => operation['x-required-roles'] !== undefined)

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' }) // all requests from one address

let victim: Victim
/** Invalid tokens by their defect. */
const refused: Record<string, string | undefined> = {}

const person = (options: PersonOptions = {}) => givenPerson(world.db, world.api, { plan: 'internal', ...options })
const member = (role: Role) => person({ member: { workspaceId: victim.workspaceId, role } })

const refusals = [
  ...['no token', 'a token that is none', 'an API key', 'an expired token', 'a token for another audience'],
  ...['a token of another type', 'a refresh token', 'a token of an ended session', 'a token of a disabled person'],
  'a token of an erased person',
]

beforeAll(async () => {
  victim = await givenVictim(world, operations)
  const owner = () => member('owner')
  const mark = (table: 'session' | 'app_user', column: string, id: string) =>
    world.db
      .updateTable(table)
      .set({ [column]: new Date() })
      .where('id', '=', id)
      .execute()
  refused['no token'] = undefined
  refused['a token that is none'] = 'abc.def.ghi'
  refused['an API key'] = victim.caller.apiKey
  refused['an expired token'] = await forgeToken(world, await owner(), { seconds: -60 })
  refused['a token for another audience'] = await forgeToken(world, await owner(), { audience: 'other' })
  refused['a token of another type'] = await forgeToken(world, await owner(), { typ: 'JWT' })
  refused['a refresh token'] = await refreshTokenOf(await owner())
  const [left, disabled, erased] = [await owner(), await owner(), await owner()]
  await mark('session', 'ended_at', left.sessionId)
  await mark('app_user', 'disabled_at', disabled.userId)
  await mark('app_user', 'erased_at', erased.userId)
  refused['a token of an ended session'] = left.accessToken
  refused['a token of a disabled person'] = disabled.accessToken
  refused['a token of an erased person'] = erased.accessToken
})

async function refreshTokenOf({ client, workspaceId }: Person): Promise<string> {
  const path = `/users/workspaces/${workspaceId}/switch`
  return (await client.call<{ refreshToken: string }>('POST', path)).data.refreshToken
}

/** With an unreadable body, so admitted callers change nothing. */
const ask = (operation: Operation, token: string | undefined) =>
  send(operation, { url: addressOf(victim, operation), token, body: malformedBodyOf(operation) })

it('the document has operations with access rules, and only existing roles', () => {
  expect(operations.length).toBeGreaterThanOrEqual(20)
  expect(ofSelf.length + ofEverybody.length + ofProviders.length + ofMembers.length).toBe(operations.length)
  for (const operation of ofMembers) expect(roles).toEqual(expect.arrayContaining([...requiredOf(operation)]))
})

const requiredOf = (operation: Operation): readonly string[] => operation['x-required-roles'] ?? []

it('a path parameter without a test resource is reported', async () => {
  const unknown = { ...(operations[0] as Operation), path: '/api/v1/app/things/{thingId}' }
  await expect(givenVictim(world, [unknown])).rejects.toThrow('{thingId}')
  expect(Object.keys(makers)).not.toContain('thingId')
})

describe.each([...ofMembers, ...ofSelf])('$method $path', (operation) => {
  it.each(refusals)('returns AUTH_INVALID_TOKEN for %s', async (what) => {
    if (what !== 'no token') expect(refused[what]).toBeTypeOf('string')
    const answer = await ask(operation, refused[what])
    expect(answer).toMatchObject({ status: 401, code: 'AUTH_INVALID_TOKEN' })
    // Errors before authentication have no limit headers.
    expect(answer.headers.get('x-ratelimit-limit')).toBeNull()
  })
})

describe.each(ofMembers)('$method $path', (operation) => {
  const required = requiredOf(operation)

  it.each(roles)('checks the role %s', async (role) => {
    const answer = await ask(operation, (await member(role)).accessToken)
    if (required.includes(role)) return expectLetIn(operation, answer)
    expect(answer).toMatchObject({ status: 403, code: 'AUTH_FORBIDDEN', details: { required, role } })
    expect(answer.headers.get('x-ratelimit-limit')).toBeNull()
  })

  it('returns NOT_FOUND for a former member', async () => {
    const { accessToken, userId } = await member('owner')
    await world.db
      .deleteFrom('membership')
      .where('workspace_id', '=', victim.workspaceId)
      .where('user_id', '=', userId)
      .execute()
    expect(await ask(operation, accessToken)).toMatchObject({ status: 404, code: 'NOT_FOUND' })
  })

  it('uses the role in the workspace of the path, not of the token', async () => {
    if (!operation.path.includes('{teamId}')) return
    const { userId, accessToken, personalWorkspaceId } = await person()
    expect(await ask(operation, accessToken)).toMatchObject({ status: 404, code: 'NOT_FOUND' })
    const other = await member('member')
    const token = await forgeToken(world, { ...other, workspaceId: other.personalWorkspaceId }, {})
    const answer = await ask(operation, token)
    if (required.includes('member')) expectLetIn(operation, answer)
    else expect(answer).toMatchObject({ status: 403, code: 'AUTH_FORBIDDEN', details: { role: 'member' } })
    expect([userId, personalWorkspaceId]).not.toContain(victim.workspaceId)
  })
})

describe.each(ofSelf)('$method $path', (operation) => {
  it.each(roles)('admits the role %s', async (role) => {
    expectLetIn(operation, await ask(operation, (await member(role)).accessToken))
  })

  it('admits a user whose membership in the token’s workspace has ended', async () => {
    const { accessToken, userId } = await member('member')
    await world.db
      .deleteFrom('membership')
      .where('workspace_id', '=', victim.workspaceId)
      .where('user_id', '=', userId)
      .execute()
    expectLetIn(operation, await ask(operation, accessToken))
  })
})

type Answer = Awaited<ReturnType<typeof send>>

/** Admitted: responses to a malformed body, or to a deleted resource. */
function expectLetIn(operation: Operation, { status, code, headers }: Answer): void {
  expect(status).toBeLessThan(500)
  expect(['AUTH_INVALID_TOKEN', 'AUTH_FORBIDDEN']).not.toContain(code)
  expect(headers.get('x-ratelimit-limit')).not.toBeNull()
  if (malformedBodyOf(operation) !== undefined) expect(['INVALID_PARAMS', 'NOT_FOUND']).toContain(code)
}

describe.each(ofEverybody)('$method $path', (operation) => {
  it('ignores credentials', async () => {
    const tokens = [undefined, 'abc.def.ghi', (await person()).accessToken, generateApiKey().key]
    const answers = await Promise.all(tokens.map((token) => ask(operation, token)))
    const [first] = answers.map(({ status, code }) => ({ status, code }))
    expect(first?.status).toBeLessThan(500)
    expect(answers.map(({ status, code }) => ({ status, code }))).toEqual(answers.map(() => first))
    if (malformedBodyOf(operation) !== undefined) expect(first).toEqual({ status: 400, code: 'INVALID_PARAMS' })
  })
})

describe.each(ofProviders)('$method $path', (operation) => {
  it('rejects requests that a provider has not signed', async () => {
    for (const token of [undefined, (await person()).accessToken, victim.caller.apiKey]) {
      const answer = await ask(operation, token)
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.status).toBeLessThan(500)
    }
  })
})
