// docs/operations/move.md, as written, to servers in a second namespace: all data is kept.
import { describe, expect, it } from 'vitest'
import { findMissing, runOrThrow } from '../../chart/helm.ts'
import { startServersElsewhere } from './external-servers.ts'
import { useInstallation } from './installation.ts'

describe.skipIf(findMissing('cluster'))('the page about servers of your own', () => {
  const installation = useInstallation()
  const { kubectl, admin, makeTask, readTask, page } = installation
  const elsewhere = startServersElsewhere(`${installation.namespace}-servers`)
  const builtIn = () => kubectl('get', 'statefulset', '-o', 'name')

  it('PostgreSQL', async () => {
    const paying = await admin('workspace', 'create', '--name', 'paying', '--plan', 'pro', '--credits', '5')
    const [workspace, key] = [String(paying.workspaceId), String(paying.apiKey)]
    const made = await makeTask(key)
    const balance = await admin('credits', 'balance', '--workspace', workspace)
    await page('move.md', { DATABASE_URL: elsewhere.databaseUrl })('PostgreSQL')
    expect(await builtIn()).not.toContain('postgresql')
    expect(await readTask(made.taskId, key)).toEqual(made)
    expect(await admin('credits', 'balance', '--workspace', workspace)).toEqual(balance)
    expect(await makeTask(key)).toMatchObject({ status: 'succeeded' })
  })

  it('NATS', async () => {
    await page('move.md', { NATS_URL: elsewhere.natsUrl })('NATS')
    expect(await builtIn()).not.toContain('nats')
    expect(await makeTask()).toMatchObject({ status: 'succeeded' })
    const { streams } = JSON.parse(await runOrThrow('kubectl', elsewhere.askNats)) as { streams: number }
    expect(streams).toBeGreaterThan(0)
  })

  it('object store', async () => {
    const made = await makeTask()
    const { storeEndpoint, storeKeys } = elsewhere
    const env = { STORE_ENDPOINT: storeEndpoint, STORE_REGION: 'us-east-1', STORE_BUCKET: 'moved', ...storeKeys }
    await page('move.md', env)('Object store')
    expect(await builtIn()).toBe('')
    expect(await readTask(made.taskId)).toEqual(made)
    expect(await makeTask()).toMatchObject({ status: 'succeeded' })
  })
})
