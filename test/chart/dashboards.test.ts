// The dashboards as the side-car of Grafana finds them.
import { describe, expect, it } from 'vitest'
import { findMissing, render } from './helm.ts'
import type { Manifest } from './manifest.ts'

const dashboardsOf = (manifests: readonly Manifest[]) =>
  manifests.filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.includes('-dashboard-'))

describe.skipIf(findMissing('helm'))('dashboards of the chart', () => {
  it('are none unless they are asked for', async () => {
    expect(dashboardsOf((await render()).manifests)).toEqual([])
  })

  it('are three, each under a file name of its own, as JSON with its uid', async () => {
    const found = dashboardsOf((await render({ metrics: { dashboards: { enabled: true } } })).manifests)
    const files = found.flatMap(({ data = {} }) => Object.entries(data))
    expect(files.map(([name, json]) => [name, JSON.parse(json).uid])).toEqual([
      ['matte-platform.json', 'matte-platform'],
      ['matte-product.json', 'matte-product'],
      ['matte-sre.json', 'matte-sre'],
    ])
    for (const { metadata } of found) expect(metadata.labels).toMatchObject({ grafana_dashboard: '1' })
  })

  it('go where the side-car looks, with its label and folder', async () => {
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

  it('link to the runbooks where they are kept', async () => {
    const rules = { runbookUrl: 'https://wiki.example.com/matte/' }
    const { manifests } = await render({ metrics: { dashboards: { enabled: true }, rules } })
    const text = dashboardsOf(manifests)
      .flatMap(({ data = {} }) => Object.values(data))
      .join()
    expect(text).toContain('"url": "https://wiki.example.com/matte/MatteTasksWaiting.md"')
    expect(text).not.toContain('RUNBOOKS')
  })
})
