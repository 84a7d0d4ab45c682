// Operations that ask for the password or a code again once the session's last proof is older than ten minutes.
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { startApi } from '../support/api.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { malformedBodyOf, type Operation, readOperations, send } from '../support/app/operations.ts'
import { givenPerson } from '../support/app/people.ts'
import { password } from '../support/app/sign-in/given-password.ts'
import { letProofPass, sessionOfToken } from '../support/app/sign-in/token-rows.ts'
import { twoFactorWorld, wrongCode } from '../support/app/sign-in/two-factor-world.ts'
import { addressOf, givenVictim, type Victim } from './victim.ts'

/** Operations that ask for a proof, grouped by what they give away or change. */
const asking = {
  keys: ['appCreateApiKey', 'appRollApiKey'],
  webhooks: ['appCreateWebhook', 'appUpdateWebhook', 'appRotateWebhookSecret'],
  secrets: ['appGetSigningSecret', 'appRotateSigningSecret'],
  data: ['exportAccount'],
  money: ['createOrder', 'createRefund', 'changeSubscription', 'cancelSubscription', 'resumeSubscription'],
  rights: ['createTeamInvite', 'changeTeamRole', 'transferTeam'],
}
const askingIds = Object.values(asking).flat()

const operations = await readOperations()
const ofPeople = operations.filter((one) => one['x-access'] === 'self' || one['x-required-roles'] !== undefined)

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000', TRUSTED_PROXY_HOPS: '1' })
const { person, protectedPerson, logIn, verify } = twoFactorWorld(world)

const required = {
  status: 403,
  code: 'AUTH_FORBIDDEN',
  details: {
    reason: 'proof_required',
    prove: 'POST /api/v1/app/auth/sessions/current/proof',
    maxAgeSeconds: 600,
    fields: ['password'],
  },
}
type Proof = { readonly method: string; readonly provedAt: string; readonly expiresAt: string }
type Client = Awaited<ReturnType<typeof person>>['client']

const createKey = (client: Client) => client.call('POST', '/developer/api-keys', { body: { name: 'a key' } })
const prove = (client: Client, body: object) => client.call<Proof>('POST', '/auth/sessions/current/proof', { body })
const letPass = ({ sessionId }: { sessionId: string }, seconds = 601) => letProofPass(world.db, { sessionId, seconds })

/** A person whose session had its last proof more than ten minutes ago. */
async function longSignedIn() {
  const someone = await person()
  await letPass(someone)
  return someone
}

async function longProtected() {
  const someone = await protectedPerson()
  await letPass(someone)
  return someone
}

let victim: Victim
beforeAll(async () => {
  victim = await givenVictim(world, operations)
})

describe.each(ofPeople)('$method $path', (operation) => {
  /** With an unreadable body, so an operation that does not ask changes nothing. */
  const ask = async (of: Operation) => {
    const { workspaceId } = victim
    const someone = await givenPerson(world.db, world.api, { plan: 'internal', member: { workspaceId, role: 'owner' } })
    await letPass(someone)
    const url = addressOf(victim, of)
    return send(of, { url, token: someone.accessToken, body: malformedBodyOf(of) })
  }

  it(`asks for a proof: ${askingIds.includes(operation.operationId)}`, async () => {
    const { code, details } = await ask(operation)
    const asks = code === 'AUTH_FORBIDDEN' && (details as { reason?: string }).reason === 'proof_required'
    expect(asks).toBe(askingIds.includes(operation.operationId))
  })
})

it('only operations of the document ask', () => {
  const known = ofPeople.map(({ operationId }) => operationId)
  expect(known).toEqual(expect.arrayContaining(askingIds))
})

describe('a proof', () => {
  it('is the sign-in itself, for ten minutes', async () => {
    const { email, userId } = await person()
    const client = createAppClient(world.api.url, (await logIn(email)).accessToken)
    await createKey(client)
    const { rows } = await sql<{ id: string }>`
      select id from session where user_id = ${userId} order by created_at desc limit 1`.execute(world.db)
    const sessionId = rows[0]?.id ?? ''
    await letPass({ sessionId }, 590)
    await createKey(client)
    await letPass({ sessionId }, 600)
    await expect(createKey(client)).rejects.toMatchObject(required)
  })

  it('is the password: the request works when it is repeated, for ten more minutes', async () => {
    const { client, sessionId } = await longSignedIn()
    await expect(createKey(client)).rejects.toMatchObject(required)
    const { data } = await prove(client, { password })
    expect(data).toEqual({ method: 'password', provedAt: expect.any(String), expiresAt: expect.any(String) })
    expect(Date.parse(data.expiresAt) - Date.parse(data.provedAt)).toBe(600_000)
    await createKey(client)
    await letPass({ sessionId })
    await expect(createKey(client)).rejects.toMatchObject(required)
  })

  it.each(['totp', 'recovery_code'])('is a code of two-factor login: %s', async (method) => {
    const { client, factor } = await longProtected()
    const details = { ...required.details, fields: ['password', 'code'] }
    await expect(createKey(client)).rejects.toMatchObject({ ...required, details })
    const code = method === 'totp' ? await factor.nextCode() : (factor.recoveryCodes[0] ?? '')
    expect((await prove(client, { code })).data).toMatchObject({ method })
    await createKey(client)
    // Each code works once.
    await expect(prove(client, { code })).rejects.toMatchObject(wrongCode)
  })

  it('is every other request with the password', async () => {
    const someone = await longSignedIn()
    const { client } = someone
    await client.call('POST', '/auth/2fa/setup', { body: { password } })
    await createKey(client)
    await letPass(someone)
    const newPassword = 'another tractor under moss'
    await client.call('POST', '/auth/password/change', { body: { currentPassword: password, newPassword } })
    await createKey(client)
  })

  it('stays with its session through a refresh and a switch, and helps no other session', async () => {
    const { email, workspaceId } = await person()
    const [first, second] = [await logIn(email), await logIn(email)]
    const sessions = await Promise.all([first, second].map((tokens) => sessionOfToken(world.db, tokens)))
    for (const { id: sessionId } of sessions) await letPass({ sessionId })
    const clientOf = ({ accessToken }: { accessToken: string }) => createAppClient(world.api.url, accessToken)
    await prove(clientOf(first), { password })
    await expect(createKey(clientOf(second))).rejects.toMatchObject(required)
    const body = { refreshToken: first.refreshToken }
    const refreshed = await createAppClient(world.api.url).call<typeof first>('POST', '/auth/refresh', { body })
    await createKey(clientOf(refreshed.data))
    const path = `/users/workspaces/${workspaceId}/switch`
    const switched = await clientOf(refreshed.data).call<typeof first>('POST', path)
    await createKey(clientOf(switched.data))
    await expect(createKey(clientOf(second))).rejects.toMatchObject(required)
  })

  it('counts at once on every replica, and lapses at once', async () => {
    const other = await startApi({ DATABASE_URL: world.databaseUrl, PUBLIC_URL: world.api.url })
    try {
      const someone = await longSignedIn()
      const elsewhere = createAppClient(other.url, someone.accessToken)
      await expect(createKey(elsewhere)).rejects.toMatchObject(required)
      await prove(someone.client, { password })
      await createKey(elsewhere)
      await letPass(someone)
      for (const client of [elsewhere, someone.client]) await expect(createKey(client)).rejects.toMatchObject(required)
    } finally {
      await other.stop()
    }
  })

  it('is asked for in a session from before an upgrade', async () => {
    const { client, sessionId } = await person()
    await world.db.updateTable('session').set({ proved_at: null }).where('id', '=', sessionId).execute()
    await expect(createKey(client)).rejects.toMatchObject(required)
  })

  it('is refused in a session that has ended, which other operations notice within 5 s', async () => {
    const { client, sessionId } = await longSignedIn()
    await client.call('GET', '/credits/balance')
    await world.db.updateTable('session').set({ ended_at: new Date() }).where('id', '=', sessionId).execute()
    const ended = { status: 401, code: 'AUTH_INVALID_TOKEN' }
    await expect(prove(client, { password })).rejects.toMatchObject(ended)
    await expect(createKey(client)).rejects.toMatchObject(ended)
  })

  it('has either a password or a code', async () => {
    const { client } = await longSignedIn()
    for (const body of [{}, { password, code: '123456' }, { password: null, code: null }]) {
      await expect(prove(client, body)).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    }
    await expect(prove(client, { code: '123456' })).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    await expect(createKey(client)).rejects.toMatchObject(required)
  })

  it('is in the audit log of the person', async () => {
    const { client, userId, workspaceId } = await longSignedIn()
    await prove(client, { password })
    const entries = world.db.selectFrom('audit_entry').select('action').where('workspace_id', '=', workspaceId)
    expect(await entries.where('user_id', '=', userId).execute()).toEqual([{ action: 'proveSession' }])
  })
})

describe('a wrong proof', () => {
  it('proves nothing, and counts like a failed login', async () => {
    const { client, email } = await longSignedIn()
    const wrong = { code: 'INVALID_PARAMS', details: { issues: [{ path: '/body/password' }] } }
    const delayed = { status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'password' } }
    for (let count = 0; count < 5; count += 1) {
      await expect(prove(client, { password: 'another password' })).rejects.toMatchObject(wrong)
    }
    await expect(createKey(client)).rejects.toMatchObject(required)
    await expect(logIn(email)).rejects.toMatchObject(delayed)
    await expect(prove(client, { password })).rejects.toMatchObject(delayed)
  })

  it('stops codes after five, for logins too', async () => {
    const { client, factor, email } = await longProtected()
    for (let count = 0; count < 5; count += 1) {
      await expect(prove(client, { code: await factor.wrongCode() })).rejects.toMatchObject(wrongCode)
    }
    const stopped = { status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'codes' } }
    await expect(prove(client, { code: await factor.nextCode() })).rejects.toMatchObject(stopped)
    await expect(verify((await logIn(email)).mfaToken, await factor.nextCode())).rejects.toMatchObject(stopped)
    await expect(createKey(client)).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    // The password is another proof.
    await prove(client, { password })
    await createKey(client)
  })
})

describe('without a session', () => {
  it('API keys are not asked', async () => {
    const { client } = await world.caller()
    await client.call('POST', '/webhooks', { body: { targetUrl: 'https://93.184.216.34/' } })
    await expect(client.call('GET', '/signing-secret')).resolves.toMatchObject({ status: 200 })
  })
})

describe('a request that is repeated after the proof', () => {
  it('creates nothing twice with its idempotency key', async () => {
    const someone = await person()
    const send = () =>
      someone.client.call<{ id: string }>('POST', '/developer/api-keys', {
        body: { name: 'once' },
        headers: { 'idempotency-key': 'once' },
      })
    const { data } = await send()
    await letPass(someone)
    await expect(send()).rejects.toMatchObject(required)
    await prove(someone.client, { password })
    expect((await send()).data.id).toBe(data.id)
  })
})
