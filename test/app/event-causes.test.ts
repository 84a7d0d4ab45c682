// Events of people, tasks, batches and retention, each from its real cause to the signed webhook. Payments are in
// payments-events.test.ts, credits in test/dispatcher/credit-events.test.ts, referrals beside it.
import type { Db } from '@matte/core/db/database'
import { announceCleanups } from '@matte/core/retention/announce-cleanup'
import { deleteOldTasks } from '@matte/core/retention/delete-tasks'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import { createEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { defaultPlans, planNamed } from '@matte/core/workspace/plan'
import { afterEach, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createDispatcher } from '../dispatcher/in-process.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { type Account, givenAccount, newPassword } from '../support/app/sign-in/accounts.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import { enableSecondFactor } from '../support/app/sign-in/second-factor.ts'
import { givenTeam } from '../support/app/teams.ts'
import { claimNext, givenTask, ownModel, success } from '../support/factories.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { verifySignature } from '../support/verify-signature.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' })
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** A receiver of all events of the workspace, and a dispatcher. */
async function givenReceiver(workspaceId: string) {
  const { db, api } = world
  const receiver = await startReceiver()
  ends.push(() => receiver.close())
  const dispatcher = createDispatcher(db, { masterKeys: api.config.masterKeys })
  const url = new URL(receiver.url)
  const input = { workspaceId, targetUrl: url.href, url, eventTypes: [], description: null }
  const { id, signingSecret } = await createEndpoint(db, api.config.masterKeys, input)
  await dispatcher.due.start()
  ends.push(() => dispatcher.stop())
  /** Fields of the received event, after a check of its signature. */
  const arrived = async (event: string): Promise<Record<string, unknown>> => {
    dispatcher.due.wake()
    const found = await until(`${event} arrives`, () =>
      receiver.received.find(({ bytes }) => JSON.parse(bytes.toString('utf8')).event === event),
    )
    const text = found.bytes.toString('utf8')
    expect(verifySignature(found.headers['x-service-signature']?.toString(), text, signingSecret)).toBe(true)
    return JSON.parse(text)
  }
  return { arrived, endpointId: id }
}

async function claimed(db: Db, { workspaceId }: Person, child = false) {
  const model = ownModel()
  const workspace = { id: workspaceId, plan: planNamed(defaultPlans, 'pro') }
  await givenTask(db, workspace, { model, child })
  const claim = await claimNext(db, [model])
  if (claim === undefined) throw new Error('nothing to claim')
  return claim
}

it('security.* arrive when a user’s password and second factor change', async () => {
  const { db, api } = world
  const person = await givenPerson(db, api)
  await givePassword(db, person)
  const { arrived } = await givenReceiver(person.workspaceId)
  const factor = await enableSecondFactor(db, person.client)
  expect(await arrived('security.mfa_enabled')).toMatchObject({ message: expect.any(String) })
  const body = { password, code: await factor.nextCode() }
  await person.client.call('POST', '/auth/2fa/disable', { body })
  expect(await arrived('security.mfa_disabled')).toMatchObject({ message: expect.any(String) })
  const changed = { currentPassword: password, newPassword: newPassword() }
  await person.client.call('POST', '/auth/password/change', { body: changed })
  expect(await arrived('security.password_changed')).toMatchObject({ message: expect.any(String) })
})

it('team.invitation arrives at the personal workspace of the invited user', async () => {
  const person = await givenPerson(world.db, world.api)
  const team = await givenTeam(world)
  const { arrived } = await givenReceiver(person.personalWorkspaceId)
  const body = { email: person.email, role: 'member' }
  await team.owner.client.call('POST', `${team.path}/invites`, { body })
  expect(await arrived('team.invitation')).toMatchObject({ team_name: 'Shop', inviter_email: team.owner.email })
})

it('welcome arrives at the first endpoint of a new account’s owner', async () => {
  const account = await givenAccount(world)
  const { arrived } = await givenReceiver((await ownWorkspace(account)).id)
  expect(await arrived('welcome')).toEqual({ event: 'welcome', message: expect.any(String) })
})

async function ownWorkspace({ client }: Account): Promise<{ readonly id: string }> {
  const { data } = await client.call<{ items: { id: string }[] }>('GET', '/users/workspaces')
  const [own] = data.items
  if (own === undefined) throw new Error('no workspace')
  return own
}

it('task.succeeded, task.failed and batch.completed arrive when tasks end', async () => {
  const { db, api } = world
  const person = await givenPerson(db, api)
  const { arrived } = await givenReceiver(person.workspaceId)
  const done = await claimed(db, person)
  await finishTask(db, done, success(done))
  expect(await arrived('task.succeeded')).toMatchObject({ task_id: done.id })
  const failed = await claimed(db, person)
  await failAttempt(db, failed, 'INPUT_UNREADABLE')
  expect(await arrived('task.failed')).toMatchObject({ task_id: failed.id })
  const child = await claimed(db, person, true)
  await finishTask(db, child, success(child))
  expect(await arrived('batch.completed')).toMatchObject({ total_count: 1, success_count: 1, failed_count: 0 })
})

it('task.retention_cleanup arrives after retention has deleted tasks', async () => {
  const { db, api } = world
  const person = await givenPerson(db, api)
  const { arrived } = await givenReceiver(person.workspaceId)
  const done = await claimed(db, person)
  await finishTask(db, done, success(done))
  const now = new Date(Date.now() + 31 * 24 * 60 * 60 * 1_000)
  await deleteOldTasks(db, defaultPlans, { now })
  await announceCleanups(db, defaultPlans, { now })
  expect(await arrived('task.retention_cleanup')).toMatchObject({ count: 1, days: 30 })
})
