import { describe, expect, it } from 'vitest'
import type { Release } from '../pool/release.ts'
import { type TritonPool, withDefaults } from '../pool/triton-pool.ts'
import { withPodRelease } from './platform.ts'
import { buildPodTemplate } from './pod-template.ts'

const first: Release = { name: 'matte', unlabelledPools: true }
const second: Release = { name: 'other', unlabelledPools: false }

function pool(release?: string, podPatch?: object): TritonPool {
  const models = [{ name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }]
  return {
    apiVersion: 'matte.dev/v1alpha1',
    kind: 'TritonPool',
    metadata: { name: 'demo', uid: 'u', ...(release && { labels: { 'matte.dev/release': release } }) },
    spec: withDefaults({ models, ...(podPatch && { podPatch }) } as Parameters<typeof withDefaults>[0]),
  }
}

describe('pods', () => {
  const labelOf = (given: TritonPool, release: Release | undefined): string | undefined =>
    buildPodTemplate(withPodRelease(given, release)).metadata.labels['matte.dev/release']
  const patch = { metadata: { labels: { 'matte.dev/release': 'mine', team: 'images' } } }

  it('of a release that serves unlabelled pools keep their template', () => {
    for (const given of [pool(), pool('matte'), pool('matte', { metadata: { labels: { team: 'images' } } })]) {
      expect(withPodRelease(given, first)).toBe(given)
      expect(withPodRelease(given, undefined)).toBe(given)
    }
  })

  it('of a release that serves only labelled pools have its label, which a podPatch cannot change', () => {
    expect(labelOf(pool('other'), second)).toBe('other')
    expect(labelOf(pool('other', patch), second)).toBe('other')
    expect(labelOf(pool('matte', patch), first)).toBeUndefined()
    expect(buildPodTemplate(withPodRelease(pool('other', patch), second)).metadata.labels.team).toBe('images')
  })
})
