// Pools of a release: they outlive their ConfigMap, and an uninstall deletes or keeps them as configured.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findMissing } from '../chart/helm.ts'
import { until } from '../support/until.ts'
import { openRelease, selectorOf } from './support/release.ts'

const pods = ['get', 'pods', '-l', selectorOf('triton'), '-o', 'jsonpath={.items[*].metadata.uid}']

describe.skipIf(findMissing('cluster'))('the pools of a release', () => {
  const release = openRelease()
  const { kubectl, helm } = release
  const poolUid = () => kubectl('get', 'tritonpool', 'demo', '--ignore-not-found', '-o', 'jsonpath={.metadata.uid}')

  beforeAll(() => release.install())
  afterAll(async () => {
    await kubectl('delete', 'tritonpools', '--all').catch(() => '') // a kept pool would stay with the definition
    await release.end()
  })

  it('survive without their ConfigMap, including their pods', async () => {
    const [uid, before] = [await poolUid(), await kubectl(...pods)]
    const { metadata } = JSON.parse(await kubectl('get', 'configmap', 'matte-pools', '-o', 'json'))
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'matte-pools', uid: metadata.uid }
    const probe = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'probe', ownerReferences: [owner] } }
    await release.create(probe)
    await kubectl('delete', 'configmap', 'matte-pools')
    await until('Kubernetes deleted what belongs to it', async () => {
      return (await kubectl('get', 'configmap', 'probe', '--ignore-not-found')) === ''
    })
    expect([await poolUid(), await kubectl(...pods)]).toEqual([uid, before])
    await release.upgrade([])
    expect([await poolUid(), await kubectl(...pods)]).toEqual([uid, before])
  })

  it('are restored after they were deleted', async () => {
    const before = await poolUid()
    await kubectl('delete', 'tritonpool', 'demo')
    await until('the pool is there again', async () => !['', before].includes(await poolUid()))
    await release.untilServing()
  })

  it('stay after an uninstall with pools.keep, and are taken over by the next installation', async () => {
    await release.upgrade(['--set', 'pools.keep=true'])
    const [uid, before] = [await poolUid(), await kubectl(...pods)]
    await helm('uninstall', 'matte', '--wait')
    expect([await poolUid(), await kubectl(...pods)]).toEqual([uid, before])
    await helm('install', 'matte', ...release.chart)
    await release.untilServing()
    expect([await poolUid(), await kubectl(...pods)]).toEqual([uid, before])
  })

  it('are deleted by an uninstall', async () => {
    await helm('uninstall', 'matte', '--wait')
    expect(await poolUid()).toBe('')
    await kubectl('wait', 'pod', '-l', selectorOf('triton'), '--for=delete', '--timeout=120s')
    const left = await kubectl(
      'get',
      'job,sa,role,rolebinding,netpol',
      '-l',
      'app.kubernetes.io/instance=matte',
      '-o',
      'name',
    )
    expect(left).toBe('')
  })
})
