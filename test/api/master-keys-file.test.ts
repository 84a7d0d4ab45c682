// Master keys in a file that is replaced as Kubernetes and secret-store drivers replace it, under two replicas of the
// API and a dispatcher that are never restarted.
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { adminText } from '../support/admin.ts'
import { exposedAt } from '../support/app/exposed.ts'
import { createClient } from '../support/client.ts'
import type { TestProcess } from '../support/processes.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { useStack } from '../support/stack.ts'
import { cutOut, download } from '../support/tasks.ts'
import { until } from '../support/until.ts'
import { verifySignature } from '../support/verify-signature.ts'

const stack = useStack({ processes: [] })
const [old, fresh] = ['old', 'fresh'].map((id) => `${id}:${randomBytes(32).toString('base64')}`)

/** A folder like the volume of a Secret: the file is a link through `..data`, which is swapped as a whole. */
function keyVolume() {
  const dir = mkdtempSync(join(inject('runDir'), 'master-keys-'))
  let version = 0
  const swap = (fill: (folder: string) => void): void => {
    version += 1
    const folder = `..version-${version}`
    mkdirSync(join(dir, folder))
    fill(join(dir, folder))
    symlinkSync(folder, join(dir, '..data_tmp'))
    renameSync(join(dir, '..data_tmp'), join(dir, '..data'))
    if (version === 1) symlinkSync('..data/MASTER_KEYS', join(dir, 'MASTER_KEYS'))
    else rmSync(join(dir, `..version-${version - 1}`), { recursive: true })
  }
  return {
    file: join(dir, 'MASTER_KEYS'),
    write: (text: string) => swap((folder) => writeFileSync(join(folder, 'MASTER_KEYS'), text)),
    empty: () => swap(() => undefined),
  }
}

const outcomes = (process: TestProcess, outcome: 'accepted' | 'rejected'): Promise<number> =>
  exposedAt(process.healthUrl, 'matte_master_keys_reads_total', { outcome })

describe('master keys in a file', () => {
  const volume = keyVolume()
  const settings = { MASTER_KEYS: '', MASTER_KEYS_FILE: volume.file }
  let replicas: readonly TestProcess[]
  let processes: readonly TestProcess[]
  let receiver: Receiver
  let apiKey: string
  beforeAll(async () => {
    volume.write(`${old}\n`)
    receiver = await startReceiver()
    const gateway = { ...settings, RESULTS_DELIVERY: 'gateway' }
    replicas = await Promise.all([stack.start('api', gateway), stack.start('api', gateway)])
    processes = [...replicas, await stack.start('dispatcher', settings)]
    await stack.start('worker')
    const key = generateApiKey()
    await insertApiKey(stack.db, key, { workspaceId: stack.workspaceId, name: 'test', scopes, expiresAt: null })
    apiKey = key.key
  })
  afterAll(() => receiver?.close())

  const atEach = <T>(ask: (client: ReturnType<typeof createClient>) => Promise<T>): Promise<T[]> =>
    Promise.all(replicas.map(({ url }) => ask(createClient(url, apiKey))))

  async function replace(text: string): Promise<void> {
    const before = await Promise.all(processes.map((each) => outcomes(each, 'accepted')))
    volume.write(text)
    await until('every process has read the new keys', async () => {
      const now = await Promise.all(processes.map((each) => outcomes(each, 'accepted')))
      return now.every((count, index) => count === (before[index] ?? 0) + 1)
    })
  }

  const seals = async (): Promise<string[]> => {
    const { rows } = await sql<{ key: string }>`
      select split_part(callback_secret_sealed, '.', 1) as key from workspace where callback_secret_sealed is not null
      union all select split_part(secret_sealed, '.', 1) from webhook_endpoint order by 1`.execute(stack.db)
    return rows.map(({ key }) => key)
  }

  const statuses = (link: URL): Promise<number[]> =>
    Promise.all(replicas.map(async ({ url }) => (await fetch(url + link.pathname + link.search)).status))

  it('are rotated without a restart: new seals, old secrets, links of results and signed webhooks', async () => {
    const { id } = await cutOut(stack.client)
    const { resultUrl } = await stack.client.getTask(id)
    const link = new URL(resultUrl ?? '')
    const secret = await stack.client.signingSecret()
    expect([link.searchParams.get('key'), await seals()]).toEqual(['old', ['old']])

    await replace(`${old},${fresh}`)
    await replace(`${fresh}\n${old}\n`)
    expect(await atEach((client) => client.signingSecret())).toEqual([secret, secret])
    const body = { targetUrl: `${receiver.url}/endpoint` }
    const endpoint = (await stack.client.call<{ signingSecret: string }>('POST', '/webhooks', { body })).data
    expect(await seals()).toEqual(['fresh', 'old'])
    expect(await statuses(link)).toEqual([200, 200])
    const links = await atEach(async (client) => new URL((await client.getTask(id)).resultUrl ?? ''))
    expect(links.map(({ searchParams }) => searchParams.get('key'))).toEqual(['fresh', 'fresh'])

    const env = { ...stack.env('api'), ...settings }
    expect(await adminText(['secrets', 'reseal'], env)).toMatch(/^resealed\s+[1-9]\d*\nsealedBy\s+fresh\n$/)
    expect(await seals()).toEqual(['fresh', 'fresh'])

    await replace(fresh ?? '')
    expect(await statuses(link)).toEqual([403, 403])
    expect((await download((await stack.client.getTask(id)).resultUrl)).length).toBeGreaterThan(0)
    expect(await atEach((client) => client.signingSecret())).toEqual([secret, secret])
    await cutOut(stack.client, { callbackUrl: receiver.url })
    const secrets: Record<string, string> = { '/hook': secret, '/hook/endpoint': endpoint.signingSecret }
    const signed = (await receiver.until(2)).map(({ path, headers, bytes }) =>
      verifySignature(headers['x-service-signature'] as string, bytes.toString(), secrets[path] ?? ''),
    )
    expect(signed).toEqual([true, true])
    expect(stack.processes('api')).toHaveLength(2)
  })

  it('stay while the file is broken or missing, which is logged once and counted', async () => {
    const secret = await stack.client.signingSecret()
    const damages = [() => volume.write('fresh:c2hvcnQ='), () => volume.empty()]
    for (const [index, damage] of damages.entries()) {
      const before = await Promise.all(processes.map((each) => outcomes(each, 'rejected')))
      damage()
      await until('every process has rejected the file, the broken one twice', async () => {
        const now = await Promise.all(processes.map((each) => outcomes(each, 'rejected')))
        return now.every((count, at) => count >= (before[at] ?? 0) + 2 - index)
      })
      expect(await atEach((client) => client.signingSecret())).toEqual([secret, secret])
    }
    for (const each of processes) {
      const lines = each.log().filter(({ msg }) => msg.startsWith('the file of the master keys'))
      expect(lines).toEqual([expect.objectContaining({ level: 'error', file: volume.file })])
    }
    await replace(`${fresh},${old}`)
  })

  it.each([
    ['both settings', { ...settings, MASTER_KEYS: old ?? '' }, 'are both set: remove MASTER_KEYS'],
    ['neither', { MASTER_KEYS: '' }, 'MASTER_KEYS is missing: seal recoverable secrets'],
    [
      'a missing file',
      { ...settings, MASTER_KEYS_FILE: '/nowhere/keys' },
      'names /nowhere/keys, which cannot be read (ENOENT)',
    ],
    ['an empty file', { ...settings, MASTER_KEYS_FILE: '/dev/null' }, 'names /dev/null, which must be id:base64 pairs'],
  ])(
    'with %s end API, dispatcher and matte-admin at their start, and the error says what to do',
    async (_, env, text) => {
      await expect(stack.start('api', env)).rejects.toThrow(text)
      await expect(stack.start('dispatcher', env)).rejects.toThrow(text)
      const command = adminText(['secrets', 'reseal'], { ...stack.env('api'), ...env })
      await expect(command).rejects.toThrow(/MASTER_KEYS/)
    },
  )
})
