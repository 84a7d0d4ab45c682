// docs/operations/rollouts.md, as written.
import { describe, expect, it } from 'vitest'
import { findMissing } from '../../chart/helm.ts'
import { useInstallation } from './installation.ts'

describe.skipIf(findMissing('cluster'))('the page about rollouts', () => {
  const { kubectl, makeTask, page } = useInstallation()
  const rollouts = page('rollouts.md')
  const podsOf = (pool: string) =>
    kubectl('get', 'pods', '-l', `matte.dev/pool=${pool}`, '-o', 'jsonpath={.items[*].metadata.uid}')

  it('watches, pauses, resumes and promotes', async () => {
    await rollouts('Watch')
    await rollouts('Pause')
    await rollouts('Resume')
    await rollouts('Promote')
    expect(await makeTask()).toMatchObject({ status: 'succeeded' })
  })

  it('rebuilds with the same builder without replacing a pod, and raises the limit of rollouts', async () => {
    await kubectl('wait', 'tritonpool/demo', '--for=condition=Progressing=False', '--timeout=300s')
    const before = await podsOf('demo')
    await rollouts('Rebuild')
    await rollouts('Queue')
    expect(await podsOf('demo')).toBe(before)
  })
})
