// The value `stopped`.
import { describe, expect, it } from 'vitest'
import { findMissing, render } from './helm.ts'

describe.skipIf(findMissing('helm'))('stopped', () => {
  const replicasOf = async (values: object) => {
    const { manifests } = await render(values)
    const deployments = manifests.filter(({ kind }) => kind === 'Deployment')
    return Object.fromEntries(deployments.map(({ metadata, spec }) => [metadata.name, spec?.replicas]))
  }
  const autoscaled = { api: { autoscaling: { enabled: true } }, dispatcher: { autoscaling: { enabled: true } } }
  const none = { 'matte-api': 0, 'matte-worker': 0, 'matte-operator': 0, 'matte-dispatcher': 0 }

  it('scales API, worker, operator and dispatcher to zero, autoscaled or not', async () => {
    expect(await replicasOf({ stopped: true })).toEqual(none)
    expect(await replicasOf({ stopped: true, ...autoscaled })).toEqual(none)
  })

  it('is off by default, and then leaves the number to an autoscaler', async () => {
    expect(await replicasOf({})).toEqual({
      'matte-api': 2,
      'matte-worker': 1,
      'matte-operator': 2,
      'matte-dispatcher': 1,
    })
    expect(await replicasOf(autoscaled)).toEqual({ 'matte-worker': 1, 'matte-operator': 2 })
  })

  it('does not change the setup Job, so stopping runs nothing', async () => {
    const jobs = async (values: object) =>
      (await render(values)).manifests.filter(({ kind }) => kind === 'Job').map(({ metadata }) => metadata.name)
    expect(await jobs({ stopped: true })).toEqual(await jobs({}))
  })
})
