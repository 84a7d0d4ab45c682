// Labels and images of the rendered objects.
import { describe, expect, it } from 'vitest'
import { findMissing, render } from './helm.ts'
import type { Manifest } from './manifest.ts'

/** Pod templates of Deployments and StatefulSets. */
const templatesOf = (manifests: readonly Manifest[]) =>
  manifests.flatMap(({ kind, spec }) => (kind === 'Deployment' || kind === 'StatefulSet' ? (spec?.template ?? []) : []))

describe.skipIf(findMissing('helm'))('the chart', () => {
  it('restarts no pod for a new chart version alone', async () => {
    const { manifests } = await render()
    const templates = templatesOf(manifests)
    expect(templates.length).toBe(7)
    for (const { metadata } of templates) {
      expect(Object.keys(metadata.labels ?? {})).not.toContain('helm.sh/chart')
      expect(Object.keys(metadata.labels ?? {})).not.toContain('app.kubernetes.io/version')
    }
  })

  it("prefers a pod's own labels to the common ones", async () => {
    const labels = { team: 'images' }
    const { manifests } = await render({ commonLabels: { team: 'all' }, api: { pod: { labels } } })
    expect(templatesOf(manifests).map(({ metadata }) => metadata.labels?.team)).toContain('images')
    expect(templatesOf(manifests).map(({ metadata }) => metadata.labels?.team)).toContain('all')
  })

  it.each(['name', 'instance', 'component'])('rejects the label %s, which selects pods', async (label) => {
    const { refusal } = await render({ commonLabels: { [`app.kubernetes.io/${label}`]: 'x' } })
    expect(refusal).toContain(`commonLabels has app.kubernetes.io/${label}, which the chart uses to select pods`)
  })

  it("replaces an image's registry", async () => {
    const images = { postgresql: { image: 'postgres:15' }, natsServer: { image: 'bitnami/nats:2' } }
    const { manifests } = await render({ ...images, image: { registry: 'localhost:5000/mirror' } })
    const named = templatesOf(manifests).flatMap(({ spec }) => spec.containers.map(({ image }) => image))
    expect(named).toContain('localhost:5000/mirror/postgres:15')
    expect(named).toContain('localhost:5000/mirror/bitnami/nats:2')
    expect(named).toContain('localhost:5000/mirror/versity/versitygw:v1')
  })

  it('rejects an alert without its threshold', async () => {
    const rules = { enabled: true, thresholds: { stuckSeconds: null } }
    const { refusal } = await render({ metrics: { rules } })
    expect(refusal).toContain('stuckSeconds')
  })
})
