// docs/operations/backup.md, lose-the-database.md and uninstall.md, as written: everything is removed and comes back.
import { describe, expect, it } from 'vitest'
import { findMissing } from '../../chart/helm.ts'
import { until } from '../../support/until.ts'
import { useInstallation } from './installation.ts'

describe.skipIf(findMissing('cluster'))('the pages about losing things', () => {
  const installation = useInstallation()
  const { kubectl, admin, makeTask, readTask, page } = installation

  it('a task, its result, its credit and its key come back after all is gone', async () => {
    // A workspace that pays: its credit is part of what must come back.
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
    await uninstall('What stays, and why')
    await until('the rest is gone', async () => (await remaining(installation)) === '', {
      timeoutMs: 120_000,
      everyMs: 1_000,
    })
    expect(await kubectl('get', 'crd', 'tritonpools.matte.dev', '-o', 'name')).toContain('tritonpools')
    await uninstall('Remove all of it')
    expect(await kubectl('get', 'pvc,secret,lease', '-o', 'name')).toBe('')

    await backup('Restore')
    expect(await readTask(made.taskId, key)).toEqual(made)
    expect(await admin('credits', 'balance', '--workspace', workspace)).toEqual(balance)
    expect(await installation.secret('MASTER_KEYS')).toBe(masterKeys)
    expect(await readTask(later.taskId)).toEqual({ error: '404 DEVELOPER_TASK_NOT_FOUND' })
    expect(await makeTask(key)).toMatchObject({ status: 'succeeded' })
  })

  it('the database comes back after its pod is gone, and from the backup after its volume is', async () => {
    const lose = page('lose-the-database.md')
    const made = await makeTask()
    await lose('Its pod')
    expect(await readTask(made.taskId)).toEqual(made)
    await lose('Its volume')
    expect(await readTask(made.taskId)).toEqual({ error: '404 DEVELOPER_TASK_NOT_FOUND' })
    expect(await makeTask()).toMatchObject({ status: 'succeeded' })
  })
})

/** What no page speaks of, by name. Pods end in their own time. */
async function remaining({ kubectl }: ReturnType<typeof useInstallation>): Promise<string> {
  const kinds = 'tritonpools,pods,deployments,statefulsets,jobs,configmaps,services,networkpolicies,roles,rolebindings'
  const names = (await kubectl('get', kinds, '-o', 'name')).split('\n')
  return names
    .filter((name) => name !== 'configmap/kube-root-ca.crt')
    .join(' ')
    .trim()
}
