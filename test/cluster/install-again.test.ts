// An uninstall keeps the CustomResourceDefinition; docs/operations/uninstall.md describes the next installation. The
// releases run only their Job, because only Helm's response matters.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chartDir, findMissing, run } from '../chart/helm.ts'
import { createNamespace, openRelease, type Release } from './support/release.ts'

const withoutPods = ['--set', 'stopped=true']

describe.skipIf(findMissing('cluster'))('an installation after another one', () => {
  const [first, second, third] = [openRelease(), openRelease(), openRelease()]

  beforeAll(async () => {
    for (const { namespace } of [first, second, third]) await createNamespace(namespace)
    await first.helm('install', 'matte', chartDir, ...withoutPods)
    await first.helm('uninstall', 'matte', '--wait')
  })

  afterAll(async () => {
    for (const release of [third, second, first]) await release.end()
  })

  it('of the same name into the same namespace needs no flag', async () => {
    await first.helm('install', 'matte', chartDir, ...withoutPods)
    await first.helm('uninstall', 'matte', '--wait')
  })

  it('into another namespace is refused without --take-ownership', async () => {
    const refused = await install(second)
    expect(refused).toMatchObject({ failed: true })
    expect(refused.stderr).toMatch(/tritonpools\.matte\.dev.* cannot be imported into the current release/)
    expect(await install(second, '--take-ownership')).toMatchObject({ failed: false })
    expect(await second.kubectl('get', 'crd', 'tritonpools.matte.dev', '-o', owner)).toBe(second.namespace)
  })

  it('next to a running release leaves the definition to that one', async () => {
    expect(await install(third)).toMatchObject({ failed: true })
    expect(await install(third, '--set', 'crds.enabled=false')).toMatchObject({ failed: false })
    expect(await third.kubectl('get', 'crd', 'tritonpools.matte.dev', '-o', owner)).toBe(second.namespace)
  })
})

const owner = 'jsonpath={.metadata.annotations.meta\\.helm\\.sh/release-namespace}'

const install = ({ namespace }: Release, ...args: string[]): ReturnType<typeof run> =>
  run('helm', ['install', 'matte', chartDir, '-n', namespace, ...withoutPods, ...args])
