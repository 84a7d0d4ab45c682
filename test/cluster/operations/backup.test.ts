// docs/operations/backup.md, lose-the-database.md and uninstall.md, as written: everything is removed and restored.
import { describe, expect, it } from 'vitest'
import { findMissing } from '../../chart/helm.ts'
import { until } from '../../support/until.ts'
import { useInstallation } from './installation.ts'

describe.skipIf(findMissing('cluster'))('the pages about backup and recovery', () => {
  const installation = useInstallation()
  const { kubectl, admin, makeTask, readTask, page } = installation

  it('restore a task, its result, its credits and its key', async () => {
    // A paying workspace, so credits are part of the restore.
    const paying = await admin('workspace', 'create', '--name', 'paying', '--plan', 'pro', '--credits', '5')
    const [workspace, key] = [String(paying.workspaceId), String(paying.apiKey)]
    const made = await makeTask(key)
    const balance = await admin('credits', 'balance', '--workspace', workspace)
    expect(balance).toMatchObject({ available: 3, held: 0 })
    const masterKeys = await installation.secret('MASTER_KEYS')

    const backup = page('backup.md')
    await backup('Back up')
    const later = await makeTask()

    const uninstall = page('uninstall.md')
    await uninstall('')
    await uninstall('Objects that remain')
    await until('the rest is gone', async () => (await remaining(installation)) === '', {
      timeoutMs: 120_000,
      everyMs: 1_000,
    })
    expect(await kubectl('get', 'crd', 'tritonpools.matte.dev', '-o', 'name')).toContain('tritonpools')
    await uninstall('Remove everything')
    expect(await kubectl('get', 'pvc,secret,lease', '-o', 'name')).toBe('')

    await backup('Restore')
    expect(await readTask(made.taskId, key)).toEqual(made)
    expect(await admin('credits', 'balance', '--workspace', workspace)).toEqual(balance)
    expect(await installation.secret('MASTER_KEYS')).toBe(masterKeys)
    expect(await readTask(later.taskId)).toEqual({ error: '404 DEVELOPER_TASK_NOT_FOUND' })
    expect(await makeTask(key)).toMatchObject({ status: 'succeeded' })
  })

  it('recover the database after its pod or its volume is lost', async () => {
    const lose = page('lose-the-database.md')
    const made = await makeTask()
    await lose('Its pod')
    expect(await readTask(made.taskId)).toEqual(made)
    await lose('Its volume')
    expect(await readTask(made.taskId)).toEqual({ error: '404 DEVELOPER_TASK_NOT_FOUND' })
    expect(await makeTask()).toMatchObject({ status: 'succeeded' })
  })
})

/** Objects that no page mentions. Pods end by themselves. */
async function remaining({ kubectl }: ReturnType<typeof useInstallation>): Promise<string> {
  const kinds = 'tritonpools,pods,deployments,statefulsets,jobs,configmaps,services,networkpolicies,roles,rolebindings'
  const names = (await kubectl('get', kinds, '-o', 'name')).split('\n')
  return names
    .filter((name) => name !== 'configmap/kube-root-ca.crt')
    .join(' ')
    .trim()
}
