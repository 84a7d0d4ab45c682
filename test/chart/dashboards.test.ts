// ConfigMaps of the dashboards for Grafana's sidecar.
import { describe, expect, it } from 'vitest'
import { findMissing, render } from './helm.ts'
import type { Manifest } from './manifest.ts'

const dashboardsOf = (manifests: readonly Manifest[]) =>
  manifests.filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.includes('-dashboard-'))

describe.skipIf(findMissing('helm'))('dashboards of the chart', () => {
  it('are off by default', async () => {
    expect(dashboardsOf((await render()).manifests)).toEqual([])
  })

  it('are three JSON files with unique names and their uids', async () => {
    const found = dashboardsOf((await render({ metrics: { dashboards: { enabled: true } } })).manifests)
    const files = found.flatMap(({ data = {} }) => Object.entries(data))
    expect(files.map(([name, json]) => [name, JSON.parse(json).uid])).toEqual([
      ['matte-platform.json', 'matte-platform'],
      ['matte-product.json', 'matte-product'],
      ['matte-sre.json', 'matte-sre'],
    ])
    for (const { metadata } of found) expect(metadata.labels).toMatchObject({ grafana_dashboard: '1' })
  })

  it("have the sidecar's namespace, label and folder", async () => {
    const dashboards = {
      enabled: true,
      namespace: 'monitoring',
      labels: { grafana_dashboard: null, dashboards: 'here' },
      annotations: { grafana_folder: 'Images' },
    }
    const found = dashboardsOf((await render({ metrics: { dashboards } })).manifests)
    expect(found).toHaveLength(3)
    for (const { metadata } of found) {
      expect(metadata).toMatchObject({
        namespace: 'monitoring',
        labels: { dashboards: 'here' },
        annotations: { grafana_folder: 'Images' },
      })
      expect(metadata.labels).not.toHaveProperty('grafana_dashboard')
    }
  })

  it('link to the runbooks', async () => {
    const rules = { runbookUrl: 'https://wiki.example.com/matte/' }
    const { manifests } = await render({ metrics: { dashboards: { enabled: true }, rules } })
    const text = dashboardsOf(manifests)
      .flatMap(({ data = {} }) => Object.values(data))
      .join()
    expect(text).toContain('"url": "https://wiki.example.com/matte/MatteTasksWaiting.md"')
    expect(text).not.toContain('RUNBOOKS')
  })
})
