import { describe, expect, it } from 'vitest'
import { admin as runAdmin } from '../support/admin.ts'
import { until } from '../support/until.ts'
import { smallImage, useApi } from './given.ts'

const world = useApi()

/** The object that a command prints. */
const admin = (args: readonly string[]) => runAdmin(args, { DATABASE_URL: world.databaseUrl })

/** Output and exit code of a rejected command. */
const refusal = (args: readonly string[]) =>
  admin(args).then(
    () => undefined,
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
  )

describe('matte-admin setting set', () => {
  it('changes a switch within 5 s', async () => {
    const { client } = await world.caller({ plan: 'internal' })
    const imageUrl = await client.upload(await smallImage())
    expect(await admin(['setting', 'set', 'maintenance', 'on'])).toEqual({ name: 'maintenance', value: true })
    await until('maintenance is in force', () =>
      client.createTask({ imageUrl }).then(
        () => false,
        () => true,
      ),
    )
    await admin(['setting', 'set', 'maintenance', 'off'])
    await until('maintenance is over', () =>
      client.createTask({ imageUrl }).then(
        () => true,
        () => false,
      ),
    )
  })

  it('sets a list of targets and clears it', async () => {
    const set = (list: string) => admin(['setting', 'set', 'webhooks.allowedTargets', list])
    expect(await set('127.0.0.1:9000  LOCALHOST:* [::1]:443')).toEqual({
      name: 'webhooks.allowedTargets',
      value: ['127.0.0.1:9000', 'localhost:*', '[::1]:443'],
    })
    expect(await set('')).toMatchObject({ value: [] })
  })
})

describe('matte-admin setting get and list', () => {
  const get = (name: string) => admin(['setting', 'get', name])

  it('show value and default, so a setting can be restored', async () => {
    const name = 'batchEnabled'
    expect(await get(name)).toEqual({ name, value: true, default: true, changed: false })
    await admin(['setting', 'set', name, 'off'])
    const { default: byDefault, ...changed } = await get(name)
    expect(changed).toEqual({ name, value: false, changed: true })
    await admin(['setting', 'set', name, String(byDefault)])
    expect(await get(name)).toMatchObject({ value: true, changed: false })
  })

  it('list every setting, including lists', async () => {
    const name = 'webhooks.allowedTargets'
    await admin(['setting', 'set', name, 'localhost:1 localhost:2'])
    const { settings } = (await admin(['setting', 'list'])) as { settings: { name: string }[] }
    expect(settings.map((one) => one.name)).toEqual(['maintenance', 'batchEnabled', 'dispatchPaused', name])
    expect(settings[3]).toEqual({ name, value: ['localhost:1', 'localhost:2'], default: [], changed: true })
    await admin(['setting', 'set', name, ''])
    expect(await get(name)).toMatchObject({ value: [], changed: false })
  })
})

describe('an invalid setting command', () => {
  it.each([
    [['setting', 'set', 'maintenance', 'maybe'], 2, 'on or off'],
    [['setting', 'set', 'colour', 'on'], 2, 'maintenance'],
    [['setting', 'get', 'colour'], 2, 'maintenance'],
    [['setting', 'get'], 2, 'give one name'],
    [['setting', 'list', 'maintenance'], 2, 'not expected'],
    [['setting', 'set', 'maintenance'], 2, 'usage'],
    [['setting', 'set', 'webhooks.allowedTargets', 'http://x'], 2, 'host:port'],
    [['setting', 'set', 'webhooks.allowedTargets', 'x:0'], 2, 'host:port'],
  ])('%j reports the error on standard error and exits with %d', async (args, code, words) => {
    expect(await refusal(args)).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(words) })
  })
})
