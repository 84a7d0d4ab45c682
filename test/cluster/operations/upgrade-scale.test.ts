// docs/operations/upgrade.md, scale.md, and the commands of the informational pages, as written.
import { describe, expect, it } from 'vitest'
import { chartDir, findMissing } from '../../chart/helm.ts'
import { until } from '../../support/until.ts'
import { useInstallation } from './installation.ts'

describe.skipIf(findMissing('cluster'))('the pages about versions and sizes', () => {
  const installation = useInstallation()
  const { kubectl, makeTask, readTask, page } = installation
  const replicas = (name: string) => kubectl('get', 'deploy', `matte-${name}`, '-o', 'jsonpath={.status.readyReplicas}')

  it('scale: replicas, an autoscaler and back, a pool, connections, and maintenance', async () => {
    const scale = page('scale.md')
    await scale('API and dispatcher')
    expect(await replicas('dispatcher')).toBe('1')
    expect(await kubectl('get', 'hpa', '-o', 'name')).toBe('')
    await scale('Pools')
    expect(await scale('Connections to PostgreSQL')).toMatch(
      /matte-api\|\d+\nmatte-dispatcher\|\d+\nmatte-operator\|\d+\nmatte-worker\|/,
    )
    await scale('Stop')
    // Each replica reads the setting within 5 s.
    expect(await until('tasks are taken again', () => makeTask())).toMatchObject({ status: 'succeeded' })
  })

  it('upgrade: preview, upgrade, rollback', async () => {
    const upgrade = page('upgrade.md')
    const made = await makeTask()
    expect(await upgrade('Preview the changes')).toBe('')
    await installation.helm(
      'upgrade',
      'matte',
      chartDir,
      '--reset-then-reuse-values',
      '--set',
      'plans.pro.monthlyQuota=7',
    )
    await upgrade('Upgrade')
    await upgrade('Roll back')
    expect(await readTask(made.taskId)).toEqual(made)
  })

  it('lose a node, outages, sizing: their commands work', async () => {
    await page('lose-a-node.md')('Pods by node')
    await page('outages.md')('')
    await page('sizing.md')('Disk of the database')
    expect(await page('sizing.md')('Disk of the store')).toMatch(/\d kB/)
  })
})
