import { describe, expect, it } from 'vitest'
import { writeChartVersion, writeImageVersion } from './version.ts'

describe('the version of the root package.json', () => {
  it('replaces both versions of Chart.yaml and nothing else', () => {
    const before = 'apiVersion: v2\nversion: 0.1.0\nappVersion: 0.0.9\nkubeVersion: ">=1.30.0-0"\n'
    const after = 'apiVersion: v2\nversion: 1.2.3\nappVersion: 1.2.3\nkubeVersion: ">=1.30.0-0"\n'
    expect(writeChartVersion(before, '1.2.3')).toBe(after)
  })

  it('replaces the tag of matte/triton in values.yaml', () => {
    const before =
      'image:\n  repository: localhost/matte/matte\npools:\n  demo:\n    image: localhost/matte/triton:0.1.0\n'
    expect(writeImageVersion(before, '1.2.3')).toBe(before.replace('0.1.0', '1.2.3'))
  })

  it('names a line that is missing', () => {
    expect(() => writeChartVersion('version: 1.0.0\n', '1.2.3')).toThrow(/appVersion.* matches 0 lines/)
  })
})
