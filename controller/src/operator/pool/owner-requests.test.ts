import { describe, expect, it } from 'vitest'
import { findStalePromotion, readRequests } from './owner-requests.ts'

const serving = { stable: 'cccccccc', weight: 0, step: -1, since: '2026-11-23T12:00:00Z' }

describe('the annotations of a pool', () => {
  it.each([
    [{}, { isPaused: false, promote: undefined, rebuild: undefined, ignored: [] }],
    [undefined, { isPaused: false }],
    [{ 'matte.dev/pause': 'true' }, { isPaused: true, ignored: [] }],
    [{ 'matte.dev/pause': 'false' }, { isPaused: false, ignored: [] }],
    [{ 'matte.dev/promote': '0a1b2c3d' }, { promote: '0a1b2c3d', ignored: [] }],
    [{ 'matte.dev/rebuild': '2026-11-23T12:00:00Z' }, { rebuild: '2026-11-23T12:00:00Z', ignored: [] }],
    [{ 'matte.dev/rebuild': '2026-11-23T13:00:00.5+01:00' }, { rebuild: '2026-11-23T13:00:00.5+01:00', ignored: [] }],
  ])('%j are read', (annotations, requests) => {
    expect(readRequests(annotations as Record<string, string>)).toMatchObject(requests)
  })

  it.each([
    ['matte.dev/pause', 'yes'],
    ['matte.dev/pause', ''],
    ['matte.dev/promote', 'newest'],
    ['matte.dev/rebuild', 'now'],
    ['matte.dev/rebuild', '2026-11-23'],
    ['matte.dev/rebuild', '2026-13-40T12:00:00Z'],
  ])('%s with the invalid value "%s" is reported and ignored', (annotation, value) => {
    const { ignored, ...requests } = readRequests({ [annotation]: value })
    expect(requests).toEqual({ isPaused: false, promote: undefined, rebuild: undefined })
    expect(ignored).toMatchObject([{ annotation, message: expect.stringContaining(`"${value}"`) }])
  })

  it.each([
    ['is valid for the canary', { ...serving, canary: 'aaaaaaaa' }, 0],
    ['is valid after its promotion', { ...serving, stable: 'aaaaaaaa' }, 0],
    ['is stale while another canary is tried', { ...serving, canary: 'bbbbbbbb' }, 1],
    ['is stale without a canary', serving, 1],
    [
      'is stale for a revision that is rolled back',
      {
        ...serving,
        canary: 'aaaaaaaa',
        failed: { revision: 'aaaaaaaa', reason: 'CanaryLatency', message: '', time: '' },
      } as const,
      1,
    ],
  ])('promote %s', (_what, state, count) => {
    expect(findStalePromotion({ promote: 'aaaaaaaa' }, state)).toHaveLength(count)
  })
})
