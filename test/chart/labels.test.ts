// Labels and images of what the chart makes, where users change them.
import { describe, expect, it } from 'vitest'
import { findMissing, render } from './helm.ts'
import type { Manifest } from './manifest.ts'

/** Pod templates of Deployments and StatefulSets. */
const templatesOf = (manifests: readonly Manifest[]) =>
  manifests.flatMap(({ kind, spec }) => (kind === 'Deployment' || kind === 'StatefulSet' ? (spec?.template ?? []) : []))

describe.skipIf(findMissing('helm'))('the chart', () => {
  it('restarts no pod for a new version of itself alone', async () => {
    const { manifests } = await render()
    const templates = templatesOf(manifests)
    expect(templates.length).toBe(7)
    for (const { metadata } of templates) {
      expect(Object.keys(metadata.labels ?? {})).not.toContain('helm.sh/chart')
      expect(Object.keys(metadata.labels ?? {})).not.toContain('app.kubernetes.io/version')
    }
  })

  it('gives a pod its own labels before those of all', async () => {
    const labels = { team: 'images' }
    const { manifests } = await render({ commonLabels: { team: 'all' }, api: { pod: { labels } } })
    expect(templatesOf(manifests).map(({ metadata }) => metadata.labels?.team)).toContain('images')
    expect(templatesOf(manifests).map(({ metadata }) => metadata.labels?.team)).toContain('all')
  })

  it.each(['name', 'instance', 'component'])('refuses the label %s, by which it selects pods', async (label) => {
    const { refusal } = await render({ commonLabels: { [`app.kubernetes.io/${label}`]: 'x' } })
    expect(refusal).toContain(`commonLabels has app.kubernetes.io/${label}, by which the chart selects pods`)
  })

  it('puts the registry before an image, in place of its own', async () => {
    const images = { postgresql: { image: 'postgres:15' }, natsServer: { image: 'bitnami/nats:2' } }
    const { manifests } = await render({ ...images, image: { registry: 'localhost:5000/mirror' } })
    const named = templatesOf(manifests).flatMap(({ spec }) => spec.containers.map(({ image }) => image))
    expect(named).toContain('localhost:5000/mirror/postgres:15')
    expect(named).toContain('localhost:5000/mirror/bitnami/nats:2')
    expect(named).toContain('localhost:5000/mirror/versity/versitygw:v1')
  })

  it('refuses an alert whose threshold was taken away', async () => {
    const rules = { enabled: true, thresholds: { stuckSeconds: null } }
    const { refusal } = await render({ metrics: { rules } })
    expect(refusal).toContain('stuckSeconds')
  })
})
