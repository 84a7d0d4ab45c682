// The PDF of an invoice, from its first download to the end of the account.
import { randomUUID } from 'node:crypto'
import { deleteDueObjects } from '@matte/core/retention/delete-objects'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { openStore } from '../support/app/open-store.ts'
import { buy } from '../support/app/payments.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import { freePorts } from '../support/free-ports.ts'

const world = useApi()

async function givenInvoice() {
  const someone = await givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
  await buy(someone, { packId: 'small' })
  const { data } = await someone.client.call<{ items: { id: string }[] }>('GET', '/payments/invoices')
  return { someone, id: data.items[0]?.id ?? '' }
}

const ask = ({ accessToken }: Person, id: string, { url }: Pick<TestApi, 'url'> = world.api) =>
  fetch(`${url}/api/v1/app/payments/invoices/${id}/pdf`, { headers: { authorization: `Bearer ${accessToken}` } })

async function read(someone: Person, id: string): Promise<Buffer> {
  const answer = await ask(someone, id)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/pdf')
  const bytes = Buffer.from(await answer.arrayBuffer())
  expect(Number(answer.headers.get('content-length'))).toBe(bytes.length)
  expect(bytes.subarray(0, 5).toString()).toBe('%PDF-')
  return bytes
}

/** Changes the output of later PDFs, so a new PDF differs from an old one. */
const changeSeller = (id: string) =>
  world.db
    .updateTable('invoice')
    .set({ seller: JSON.stringify({ name: `Other ${randomUUID()}`, addressLines: [], taxId: null }) as never })
    .where('id', '=', id)
    .execute()

const keysOf = async (id: string): Promise<string[]> => {
  const store = openStore(world.api)
  const keys = await store.list('invoices/')
  store.close()
  return keys.filter((key) => key.includes(id))
}

describe('the PDF of an invoice', () => {
  it('is created once: each later request returns the stored bytes', async () => {
    const { someone, id } = await givenInvoice()
    const [first, second] = await Promise.all([read(someone, id), read(someone, id)])
    expect(second).toEqual(first)
    expect(await keysOf(id)).toHaveLength(1)
    await changeSeller(id)
    expect(await read(someone, id)).toEqual(first)
  })

  it('is created again when the store has lost it', async () => {
    const { someone, id } = await givenInvoice()
    const first = await read(someone, id)
    const store = openStore(world.api)
    for (const key of await keysOf(id)) await store.delete(key)
    store.close()
    expect(await read(someone, id)).toEqual(first)
    expect(await keysOf(id)).toHaveLength(1)
  })

  it('is deleted with the account: object, name and bodies of provider events', async () => {
    const { someone, id } = await givenInvoice()
    await givePassword(world.db, someone)
    await read(someone, id)
    const events = () =>
      world.db
        .selectFrom('provider_event')
        .select(['applied', 'raw'])
        .where('workspace_id', '=', someone.workspaceId)
        .execute()
    expect((await events()).map(({ raw }) => raw)).not.toContain('')
    await someone.client.call('DELETE', '/users/profile', { body: { password } })
    expect(await events()).toEqual([{ applied: true, raw: '' }])
    const store = openStore(world.api)
    await deleteDueObjects(world.db, store)
    expect(await keysOf(id)).toHaveLength(1)
    await deleteDueObjects(world.db, store, { now: new Date(Date.now() + 2 * 60 * 60 * 1_000) })
    store.close()
    expect(await keysOf(id)).toEqual([])
    const kept = await world.db.selectFrom('invoice').select('buyer').where('id', '=', id).executeTakeFirstOrThrow()
    expect(kept.buyer).toMatchObject({ name: 'deleted', email: null })
  })
})

describe('while the object store is down', () => {
  let offline: TestApi | undefined
  beforeAll(async () => {
    const [port] = await freePorts(1)
    const away = `http://127.0.0.1:${port}`
    // The first API's tokens are valid here too.
    const variables = { PUBLIC_URL: world.api.url, S3_ENDPOINT: away, S3_PUBLIC_ENDPOINT: away }
    offline = await startApi({ DATABASE_URL: world.databaseUrl, ...variables })
  })
  afterAll(() => offline?.stop())

  it('the PDF returns TASK_STORAGE_UNAVAILABLE with Retry-After', async () => {
    const { someone, id } = await givenInvoice()
    if (offline === undefined) throw new Error('the API has not started')
    const answer = await ask(someone, id, offline)
    expect(answer.status).toBe(503)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await answer.json()).toMatchObject({ error: { code: 'TASK_STORAGE_UNAVAILABLE' } })
  })
})
