// A request for every route that changes something, after the setup that it needs. audit-walk.test.ts sends each one.
import { randomBytes } from 'node:crypto'
import { failAttempt } from '@matte/core/task/run/finish-task'
import { requestPasswordReset } from '@matte/people/identity/account/account-requests'
import { sql } from 'kysely'
import { type Caller, claim, smallImage, type World } from '../api/given.ts'
import { admin } from '../support/admin.ts'
import { readMails } from '../support/app/mails.ts'
import { buy, order } from '../support/app/payments.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import { tokensTo } from '../support/app/sign-in/inbox.ts'
import { codeOf, databaseTime, enableSecondFactor } from '../support/app/sign-in/second-factor.ts'
import { givenKeyOf, givenTeam, readInviteMails } from '../support/app/teams.ts'
import { makers } from './victim.ts'

/** Credential of the request: a bearer token, an API key, or none. */
type As = { readonly accessToken: string } | { readonly apiKey: string } | undefined

export type Scenario = {
  readonly as: As
  readonly path: string
  readonly body?: object
  /** Sent as a form of a page. */
  readonly form?: Record<string, string>
  readonly entry: {
    readonly actor: 'member' | 'api-key' | 'operator'
    readonly user_id?: string
    readonly api_key_id?: string
    readonly action?: string
    readonly ip_address?: null
    readonly user_agent?: null
  }
  /** A change of two logs, the person's and the team's, has an entry in each. */
  readonly entries?: 2
}

export const operatorToken = 'test-operator-token-with-more-than-32-random-bytes'

export type Given = () => Promise<Scenario>

const targetUrl = 'https://93.184.216.34/'
const address = () => `p-${randomBytes(6).toString('hex')}@example.com`

export function scenariosOf(world: World): Readonly<Record<string, Given>> {
  const { call, person, withPassword, place } = tools(world)
  return {
    ...taskScenarios(world),
    ...webhookScenarios(world),
    ...accountScenarios(world),
    ...teamScenarios(world),
    ...paymentScenarios(world),
    'POST /api/v1/operator/session': async () => {
      const { url } = await admin(['console-link'], { DATABASE_URL: world.databaseUrl, PUBLIC_URL: world.api.url })
      const code = String(url).split('#code=')[1] ?? ''
      return { as: undefined, path: '/api/v1/operator/session', body: { code }, entry: { actor: 'operator' } }
    },
    'DELETE /api/v1/operator/session': async () => {
      const { url } = await admin(['console-link'], { DATABASE_URL: world.databaseUrl, PUBLIC_URL: world.api.url })
      const body = { code: String(url).split('#code=')[1] }
      const begun = await call<{ accessToken: string }>('POST', '/api/v1/operator/session', { as: undefined, body })
      return { as: begun, path: '/api/v1/operator/session', entry: { actor: 'operator' } }
    },
    'POST /api/v1/app/developer/signing-secret/rotate': async () => {
      const { member } = await place()
      return ofMember(member, '/api/v1/app/developer/signing-secret/rotate', {})
    },
    'POST /api/v1/app/developer/api-keys': async () => {
      const { member } = await place()
      return ofMember(member, '/api/v1/app/developer/api-keys', { name: 'one', scopes: ['tasks:read'] })
    },
    'POST /api/v1/app/developer/api-keys/:apiKeyId/roll': async () => {
      const { member, caller } = await place()
      const { id } = await givenKeyOf(world.db, caller.workspaceId, member.userId)
      return ofMember(member, `/api/v1/app/developer/api-keys/${id}/roll`, {})
    },
    'DELETE /api/v1/app/developer/api-keys/:apiKeyId': async () => {
      const { member, caller } = await place()
      const { id } = await givenKeyOf(world.db, caller.workspaceId, member.userId)
      return ofMember(member, `/api/v1/app/developer/api-keys/${id}`)
    },
    'PUT /api/v1/app/credits/alert-settings': async () =>
      ofMember(await person(), '/api/v1/app/credits/alert-settings', { lowBalanceThreshold: 5, expiryDaysBefore: 7 }),
    'POST /api/v1/app/notifications/:notificationId/read': async () => {
      const { member, caller } = await place()
      const id = await makers.notificationId?.({ world, caller, owner: member, objectKey: '' })
      return ofMember(member, `/api/v1/app/notifications/${id}/read`)
    },
    'POST /api/v1/app/notifications/read-all': async () =>
      ofMember(await person(), '/api/v1/app/notifications/read-all'),
    'PUT /api/v1/app/notifications/preferences': async () =>
      ofMember(await person(), '/api/v1/app/notifications/preferences', {
        preferences: [{ event: 'task.succeeded', email: true }],
      }),
    'POST /api/v1/app/referral/invitations': async () =>
      ofMember(await withPassword(), '/api/v1/app/referral/invitations', { email: address() }),
  }
}

function tools(world: World) {
  const person = () => givenPerson(world.db, world.api)
  return {
    person,
    withPassword: async (): Promise<Person> => {
      const someone = await person()
      await givePassword(world.db, someone)
      return someone
    },
    /** A workspace with a key, and a member of it. */
    place: async (): Promise<{ caller: Caller; member: Person }> => {
      const caller = await world.caller({ plan: 'internal' })
      const member = await givenPerson(world.db, world.api, {
        member: { workspaceId: caller.workspaceId, role: 'owner' },
      })
      await world.db.updateTable('workspace').set({ kind: 'team' }).where('id', '=', caller.workspaceId).execute()
      return { caller, member }
    },
    call: async <T>(method: string, path: string, { as, body }: { as: As; body?: object }): Promise<T> => {
      const response = await fetch(world.api.url + path, {
        method,
        headers: { ...credentialOf(as), ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      const { data, error } = (await response.json()) as { data: T; error?: { code: string; message: string } }
      if (error !== undefined) throw new Error(`${method} ${path}: ${error.code} ${error.message}`)
      return data
    },
  }
}

export const credentialOf = (as: As): Record<string, string> =>
  as === undefined ? {} : 'apiKey' in as ? { 'x-api-key': as.apiKey } : { authorization: `Bearer ${as.accessToken}` }

const ofMember = (member: Person, path: string, body?: object): Scenario => ({
  ...{ as: member, path, ...(body && { body }) },
  entry: { actor: 'member', user_id: member.userId },
})
const ofKey = (caller: Caller, path: string, body?: object): Scenario => ({
  ...{ as: caller, path, ...(body && { body }) },
  entry: { actor: 'api-key', api_key_id: caller.apiKeyId },
})

/** The same operation of both APIs. */
type Both = { readonly key: string; readonly member: string }
const inBoth = (
  method: string,
  { key, member }: Both,
  give: () => Promise<{ readonly caller: Caller; readonly member: Person; readonly ids: Record<string, string> }>,
  body?: object,
): Record<string, Given> => {
  const fill = (path: string, ids: Record<string, string>) => path.replace(/:(\w+)/g, (_, name) => ids[name] ?? name)
  return {
    [`${method} ${key}`]: async () => {
      const { caller, ids } = await give()
      return ofKey(caller, fill(key, ids), body)
    },
    [`${method} ${member}`]: async () => {
      const given = await give()
      return ofMember(given.member, fill(member, given.ids), body)
    },
  }
}

function taskScenarios(world: World): Record<string, Given> {
  const { place, person } = tools(world)
  const withTask = async () => {
    const { caller, member } = await place()
    const objectKey = await caller.client.upload(await smallImage())
    const { id } = await caller.client.createTask({ imageUrl: objectKey })
    return { caller, member, objectKey, ids: { taskId: id } }
  }
  const [key, app] = ['/api/v1/open/developer', '/api/v1/app/tasks']
  return {
    ...inBoth('DELETE', { key: `${key}/tasks/:taskId`, member: `${app}/images/:taskId` }, withTask),
    ...inBoth('POST', { key: `${key}/tasks/:taskId/retry`, member: `${app}/images/:taskId/retry` }, async () => {
      const given = await withTask()
      await failAttempt(world.db, await claim(world.db, given.ids.taskId), 'INPUT_UNREADABLE')
      return given
    }),
    ...inBoth('DELETE', { key: `${key}/tasks/:taskId/images`, member: `${app}/images/:taskId/images` }, async () => {
      const given = await withTask()
      await given.caller.client.cancelTask(given.ids.taskId)
      return given
    }),
    [`PUT ${app}/retention`]: async () => ofMember(await person(), `${app}/retention`, { retention: 600 }),
    ...inBoth('DELETE', { key: `${key}/batch-tasks/:batchId`, member: `${app}/batch/:batchId` }, async () => {
      const given = await withTask()
      const { data } = await given.caller.client.call<{ id: string }>('POST', '/batch-tasks', {
        body: { imageUrls: [given.objectKey] },
      })
      return { ...given, ids: { batchId: data.id } }
    }),
    'DELETE /v1/tasks/:taskId': async () => {
      const { caller, ids } = await withTask()
      return ofKey(caller, `/v1/tasks/${ids.taskId}`)
    },
    'POST /api/v1/app/tasks/uploads/presign': async () =>
      ofMember((await place()).member, `${app}/uploads/presign`, { fileName: 'a.png', contentType: 'image/png' }),
    'POST /api/v1/app/tasks/images': async () => {
      const { member, objectKey } = await withTask()
      return ofMember(member, `${app}/images`, { imageUrl: objectKey })
    },
    'POST /api/v1/app/tasks/batch': async () => {
      const { member, objectKey } = await withTask()
      return ofMember(member, `${app}/batch`, { imageUrls: [objectKey] })
    },
  }
}

function webhookScenarios(world: World): Record<string, Given> {
  const { place } = tools(world)
  const withEndpoint = async () => {
    const given = await place()
    const { data } = await given.caller.client.call<{ id: string }>('POST', '/webhooks', { body: { targetUrl } })
    return { ...given, ids: { webhookId: data.id } }
  }
  const [key, app] = ['/api/v1/open/developer/webhooks', '/api/v1/app/developer/webhooks']
  const both = (path: string): Both => ({ key: key + path, member: app + path })
  const now = { since: '2026-01-01' }
  return {
    ...inBoth('POST', both(''), async () => ({ ...(await place()), ids: {} }), { targetUrl }),
    ...inBoth('PATCH', both('/:webhookId'), withEndpoint, { description: 'changed' }),
    ...inBoth('DELETE', both('/:webhookId'), withEndpoint),
    ...inBoth('POST', both('/:webhookId/rotate-secret'), withEndpoint, {}),
    ...inBoth('POST', both('/:webhookId/test'), withEndpoint),
    ...inBoth('POST', both('/:webhookId/samples'), withEndpoint, { event: 'task.succeeded' }),
    ...inBoth('POST', both('/:webhookId/recover'), withEndpoint, now),
    ...inBoth('POST', both('/deliveries/:deliveryId/redeliver'), async () => {
      const given = await place()
      const id = await makers.deliveryId?.({ world, caller: given.caller, owner: given.member, objectKey: '' })
      return { ...given, ids: { deliveryId: id ?? '' } }
    }),
    [`POST ${key}/trigger`]: async () => {
      const { caller } = await place()
      await sql`insert into webhook_stream (workspace_id, open_until, kept_until)
                values (${caller.workspaceId}, now() + interval '1 hour', now() + interval '1 hour')`.execute(world.db)
      return ofKey(caller, `${key}/trigger`, { event: 'task.succeeded' })
    },
  }
}

function accountScenarios(world: World): Record<string, Given> {
  const { person, withPassword } = tools(world)
  const [auth, users] = ['/api/v1/app/auth', '/api/v1/app/users']
  const protectedPerson = async () => {
    const someone = await withPassword()
    return { someone, factor: await enableSecondFactor(world.db, someone.client) }
  }
  const newAddress = async () => {
    const someone = await withPassword()
    const newEmail = address()
    await someone.client.call('POST', '/auth/email/change', { body: { newEmail, password } })
    const mails = await readMails(world.db, world.api.config.masterKeys, { to: newEmail })
    return { someone, token: URL.parse(mails.at(-1)?.data.url ?? '')?.searchParams.get('token') ?? '' }
  }
  const resetToken = async () => {
    const someone = await withPassword()
    await requestPasswordReset(world.db, someone.email)
    const [token = ''] = await tokensTo(world, someone.email, { template: 'reset-password' })
    return { someone, token }
  }
  const newPassword = 'a much longer sentence of mine'
  return {
    [`POST ${auth}/logout`]: async () => ofMember(await person(), `${auth}/logout`, {}),
    [`POST ${auth}/logout-all`]: async () => ofMember(await person(), `${auth}/logout-all`),
    [`DELETE ${auth}/sessions/:sessionId`]: async () => {
      const someone = await person()
      return ofMember(someone, `${auth}/sessions/${someone.sessionId}`)
    },
    [`POST ${auth}/sessions/current/proof`]: async () =>
      ofMember(await withPassword(), `${auth}/sessions/current/proof`, { password }),
    [`POST ${auth}/password/change`]: async () =>
      ofMember(await withPassword(), `${auth}/password/change`, { currentPassword: password, newPassword }),
    [`POST ${auth}/password/reset`]: async () => {
      const { someone, token } = await resetToken()
      const { entry, path, body } = ofMember(someone, `${auth}/password/reset`, { token, newPassword })
      return { as: undefined, path, body: body ?? {}, entry }
    },
    'POST /api/v1/app/pages/reset-password': async () => {
      const { someone, token } = await resetToken()
      const path = '/api/v1/app/pages/reset-password'
      const entry = { actor: 'member', user_id: someone.userId, action: 'resetPassword' } as const
      return { as: undefined, path, form: { token, newPassword }, entry }
    },
    [`POST ${auth}/2fa/setup`]: async () => ofMember(await withPassword(), `${auth}/2fa/setup`, { password }),
    [`POST ${auth}/2fa/enable`]: async () => {
      const someone = await withPassword()
      const { data } = await someone.client.call<{ secret: string }>('POST', '/auth/2fa/setup', { body: { password } })
      const code = codeOf(data.secret, await databaseTime(world.db))
      return ofMember(someone, `${auth}/2fa/enable`, { password, code })
    },
    [`POST ${auth}/2fa/disable`]: async () => {
      const { someone, factor } = await protectedPerson()
      return ofMember(someone, `${auth}/2fa/disable`, { password, code: await factor.nextCode() })
    },
    [`POST ${auth}/2fa/recovery-codes`]: async () => {
      const { someone, factor } = await protectedPerson()
      return ofMember(someone, `${auth}/2fa/recovery-codes`, { password, code: await factor.nextCode() })
    },
    [`POST ${auth}/email/change`]: async () =>
      ofMember(await withPassword(), `${auth}/email/change`, { newEmail: address(), password }),
    [`POST ${auth}/email/confirm`]: async () => {
      const { someone, token } = await newAddress()
      return ofMember(someone, `${auth}/email/confirm`, { token })
    },
    'POST /api/v1/app/pages/confirm-email': async () => {
      const { someone, token } = await newAddress()
      const entry = { actor: 'member', user_id: someone.userId, action: 'confirmEmail' } as const
      const form = { token, email: someone.email, password }
      return { as: undefined, path: '/api/v1/app/pages/confirm-email', form, entry }
    },
    [`PATCH ${users}/profile`]: async () => ofMember(await person(), `${users}/profile`, { name: 'Ada' }),
    [`DELETE ${users}/profile`]: async () => {
      const scenario = ofMember(await withPassword(), `${users}/profile`, { password })
      return { ...scenario, entry: { ...scenario.entry, ip_address: null, user_agent: null } }
    },
    [`POST ${users}/workspaces/:workspaceId/switch`]: async () => {
      const someone = await person()
      return ofMember(someone, `${users}/workspaces/${someone.workspaceId}/switch`, {})
    },
  }
}

function teamScenarios(world: World): Record<string, Given> {
  const { person } = tools(world)
  const teams = '/api/v1/app/teams'
  const byOwner = async (path: string, body?: object) => {
    const team = await givenTeam(world)
    return ofMember(team.owner, `${teams}/${team.id}${path}`, body)
  }
  const withMember = async () => {
    const team = await givenTeam(world)
    return { team, member: await team.member('member') }
  }
  const invited = async () => {
    const [team, email] = [await givenTeam(world), address()]
    const { data } = await team.owner.client.call<{ id: string }>('POST', `${team.path}/invites`, {
      body: { email, role: 'member' },
    })
    const token = (await readInviteMails(world, email)).at(-1)?.token ?? ''
    return { team, inviteId: data.id, email, token }
  }
  return {
    [`POST ${teams}`]: async () => ({ ...ofMember(await person(), teams, { name: 'Made' }), entries: 2 }),
    [`PATCH ${teams}/:teamId`]: () => byOwner('', { name: 'Renamed' }),
    [`DELETE ${teams}/:teamId`]: async () => {
      const team = await givenTeam(world)
      await givePassword(world.db, team.owner)
      return ofMember(team.owner, `${teams}/${team.id}`, { password, confirmCreditLoss: true })
    },
    [`PATCH ${teams}/:teamId/members/:userId`]: async () => {
      const { team, member } = await withMember()
      return ofMember(team.owner, `${teams}/${team.id}/members/${member.userId}`, { role: 'admin' })
    },
    [`DELETE ${teams}/:teamId/members/:userId`]: async () => {
      const { team, member } = await withMember()
      return ofMember(team.owner, `${teams}/${team.id}/members/${member.userId}`)
    },
    [`POST ${teams}/:teamId/transfer`]: async () => {
      const { team, member } = await withMember()
      return ofMember(team.owner, `${teams}/${team.id}/transfer`, { userId: member.userId })
    },
    [`POST ${teams}/:teamId/invites`]: () => byOwner('/invites', { email: address(), role: 'member' }),
    [`DELETE ${teams}/:teamId/invites/:inviteId`]: async () => {
      const { team, inviteId } = await invited()
      return ofMember(team.owner, `${teams}/${team.id}/invites/${inviteId}`)
    },
    [`POST ${teams}/invites/accept`]: async () => {
      const { email, token } = await invited()
      const someone = await givenPerson(world.db, world.api, { email })
      return { ...ofMember(someone, `${teams}/invites/accept`, { token }), entries: 2 }
    },
    'POST /api/v1/app/pages/teams/accept': async () => {
      const { email, token } = await invited()
      const someone = await givenPerson(world.db, world.api, { email })
      await givePassword(world.db, someone)
      const entry = { actor: 'member', user_id: someone.userId, action: 'acceptTeamInvite' } as const
      const form = { token, email, password }
      return { as: undefined, path: '/api/v1/app/pages/teams/accept', form, entry, entries: 2 }
    },
    [`PUT ${teams}/:teamId/credits/limits`]: () => byOwner('/credits/limits', { limits: [] }),
    [`PUT ${teams}/:teamId/key-policy`]: () => byOwner('/key-policy', { maxKeyDays: 90 }),
    [`PATCH ${teams}/:teamId/billing`]: () => byOwner('/billing', { name: 'Shop Ltd' }),
  }
}

function paymentScenarios(world: World): Record<string, Given> {
  const payments = '/api/v1/app/payments'
  const buyer = () => givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
  const subscribed = async () => {
    const someone = await buyer()
    await buy(someone, { plan: 'pro', interval: 'month' })
    return someone
  }
  return {
    [`POST ${payments}/orders`]: async () =>
      ofMember(await buyer(), `${payments}/orders`, { kind: 'pack', packId: 'small' }),
    [`POST ${payments}/orders/:orderId/cancel`]: async () => {
      const someone = await buyer()
      const { id } = await order(someone, { packId: 'small' })
      return ofMember(someone, `${payments}/orders/${id}/cancel`)
    },
    [`POST ${payments}/sandbox/checkout/:orderId`]: async () => {
      const someone = await buyer()
      const { id } = await order(someone, { packId: 'small' })
      return ofMember(someone, `${payments}/sandbox/checkout/${id}`, { outcome: 'succeed' })
    },
    [`POST ${payments}/refunds`]: async () => {
      const someone = await buyer()
      const { id } = await buy(someone, { packId: 'small' })
      return ofMember(someone, `${payments}/refunds`, { orderId: id, reason: 'not needed' })
    },
    [`POST ${payments}/subscription/change`]: async () =>
      ofMember(await subscribed(), `${payments}/subscription/change`, { plan: 'business', interval: 'month' }),
    [`POST ${payments}/subscription/cancel`]: async () =>
      ofMember(await subscribed(), `${payments}/subscription/cancel`),
    [`POST ${payments}/subscription/resume`]: async () => {
      const someone = await subscribed()
      await someone.client.call('POST', '/payments/subscription/cancel')
      return ofMember(someone, `${payments}/subscription/resume`)
    },
  }
}
