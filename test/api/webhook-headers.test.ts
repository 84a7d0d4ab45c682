// Headers of the owner's own: set, masked, stored encrypted, and refused.
import { parseMasterKeys, unseal } from '@matte/core/runtime/seal'
import { describe, expect, it } from 'vitest'
import { type Keeper, surfaces, useWebhooks } from './webhook-parts.ts'

const world = useWebhooks()
const keys = parseMasterKeys(`test:${Buffer.alloc(32, 1).toString('base64')}`)
const targetUrl = 'https://93.184.216.34/hook'
const secret = 'a-secret-token-1234'

type Endpoint = { readonly id: string; readonly headers: Record<string, string> }

describe.each(surfaces)('headers of an endpoint on the surface %s', (surface) => {
  const create = async ({ call }: Keeper, headers?: unknown) =>
    (await call<Endpoint>('POST', '/webhooks', { body: { targetUrl, headers } })).data
  const patch = async ({ call }: Keeper, id: string, headers: unknown) =>
    (await call<Endpoint>('PATCH', `/webhooks/${id}`, { body: { headers } })).data
  const stored = async (id: string) => {
    const row = await world.db.selectFrom('webhook_endpoint').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    return row.headers_sealed === null ? null : { ...row, open: JSON.parse(unseal(keys, id, row.headers_sealed)) }
  }

  it('are shown with masked values, and stored encrypted for their endpoint', async () => {
    const keeper = await world.keeper(surface)
    const endpoint = await create(keeper, { 'X-Token': secret, 'X-Short': 'abc' })
    expect(endpoint.headers).toEqual({ 'X-Token': '••••1234', 'X-Short': '••••' })
    expect((await keeper.call<Endpoint>('GET', `/webhooks/${endpoint.id}`)).data.headers).toEqual(endpoint.headers)
    const row = await stored(endpoint.id)
    expect(row?.open).toEqual({ 'X-Token': secret, 'X-Short': 'abc' })
    expect(JSON.stringify({ ...row, open: undefined })).not.toContain('a-secret')
  })

  it('are added, replaced and removed one by one, without regard to case', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await create(keeper, { 'X-A': 'first', 'X-B': 'second' })
    await patch(keeper, id, { 'x-a': 'third', 'X-B': null, 'X-C': 'fourth' })
    expect((await stored(id))?.open).toEqual({ 'x-a': 'third', 'X-C': 'fourth' })
    await keeper.call('PATCH', `/webhooks/${id}`, { body: { description: 'kept', headers: null } })
    expect((await stored(id))?.open).toEqual({ 'x-a': 'third', 'X-C': 'fourth' })
    expect((await patch(keeper, id, { 'X-A': null, 'x-c': null })).headers).toEqual({})
    expect(await stored(id)).toBeNull()
  })

  it('are ten at most, also after several changes', async () => {
    const keeper = await world.keeper(surface)
    const many = (from: number, to: number) =>
      Object.fromEntries(Array.from({ length: to - from }, (_, index) => [`X-${from + index}`, 'a']))
    const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path: '/body/headers' }] } }
    await expect(create(keeper, many(0, 11))).rejects.toMatchObject(refused)
    const { id } = await create(keeper, many(0, 9))
    await expect(patch(keeper, id, many(9, 11))).rejects.toMatchObject(refused)
    expect(Object.keys((await patch(keeper, id, { ...many(9, 11), 'X-0': null })).headers)).toHaveLength(10)
  })

  it.each([
    ['a signature header', { 'X-Service-Signature': secret }, '/X-Service-Signature'],
    ['a header of Standard Webhooks', { 'Webhook-Id': secret }, '/Webhook-Id'],
    ['a header of the service', { 'X-Matte-Sample': secret }, '/X-Matte-Sample'],
    ['Host', { Host: secret }, '/Host'],
    ['a length', { 'content-length': '1' }, '/content-length'],
    ['a hop-by-hop header', { 'Transfer-Encoding': 'chunked' }, '/Transfer-Encoding'],
    ['a header for proxies', { 'Proxy-Authorization': secret }, '/Proxy-Authorization'],
    ['a name with a slash', { 'a/b': secret }, '/a~1b'],
    ['a line break', { 'X-A': `${secret}\r\nX-B: c` }, '/X-A'],
    ['a value that a response masked', { 'X-A': '••••1234' }, '/X-A'],
    ['a value that is no text', { 'X-A': 5 }, '/X-A'],
    ['a list', [secret], ''],
  ])('are refused for %s, without the value in the error', async (_what, headers, path) => {
    const keeper = await world.keeper(surface)
    const { id } = await create(keeper)
    for (const change of [() => create(keeper, headers), () => patch(keeper, id, headers)]) {
      const error = await change().catch((reason: unknown) => reason)
      expect(error).toMatchObject({
        ...{ status: 400, code: 'INVALID_PARAMS' },
        details: { issues: [{ path: `/body/headers${path}` }] },
      })
      expect(JSON.stringify(error)).not.toContain(secret)
    }
    expect(await stored(id)).toBeNull()
  })

  it('do not follow a target to another host, unless they are given again or removed', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await create(keeper, { 'X-Token': secret, 'X-B': 'second' })
    const move = (url: string, headers?: unknown) =>
      keeper.call<Endpoint>('PATCH', `/webhooks/${id}`, { body: { targetUrl: url, headers } })
    const issue = { path: '/body/headers', message: expect.stringContaining('X-Token') }
    const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues: [issue] } }
    await expect(move('https://93.184.216.35/hook')).rejects.toMatchObject(refused)
    await expect(move('https://93.184.216.34:8443/hook', { 'X-B': 'third' })).rejects.toMatchObject(refused)
    expect((await stored(id))?.target_url).toBe(targetUrl)
    await move('https://93.184.216.34/other')
    expect((await stored(id))?.open).toEqual({ 'X-Token': secret, 'X-B': 'second' })
    await move('https://93.184.216.35/hook', { 'x-token': 'another-secret', 'X-B': null })
    expect(await stored(id)).toMatchObject({
      ...{ target_url: 'https://93.184.216.35/hook', open: { 'x-token': 'another-secret' } },
    })
  })

  it('of another workspace cannot be changed', async () => {
    const { id } = await create(await world.keeper(surface), { 'X-Token': secret })
    await expect(patch(await world.keeper(surface), id, { 'X-B': 'b' })).rejects.toMatchObject({ status: 404 })
    expect((await stored(id))?.open).toEqual({ 'X-Token': secret })
  })
})
