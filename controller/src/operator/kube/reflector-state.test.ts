import { describe, expect, it, vi } from 'vitest'
import { KubeError } from './http/kube-error.ts'
import {
  afterEvent,
  afterFailedList,
  afterList,
  afterWatch,
  type EndReason,
  pauseMs,
  startListing,
} from './reflector-state.ts'

const watching = afterList({ failures: 2, silences: 0 }, '7')
const listing = { state: 'listing' }
const goesOn = { state: 'watching', resourceVersion: '7' }

describe('the state of a reflector', () => {
  it('lists first, and retries a failed list', () => {
    expect(afterFailedList(startListing)).toEqual({ state: 'listing', failures: 1, silences: 0 })
    expect(afterList(startListing, '7')).toEqual({ ...goesOn, failures: 0, silences: 0 })
  })

  it('takes the version of each event', () => {
    expect(afterEvent(watching, '8')).toEqual({ ...watching, resourceVersion: '8' })
    expect(afterEvent(watching, undefined)).toEqual(watching)
    expect(afterEvent(startListing, '8')).toEqual(startListing)
  })

  const endings: [what: string, reason: EndReason, relist: boolean, livedMs: number, next: object][] = [
    ['watches on after a long watch, with failures reset', 'ended', false, 5_000, { ...goesOn, failures: 0 }],
    ['counts a short watch as a failure', 'ended', false, 4_999, { ...goesOn, failures: 3 }],
    ['watches on after a cut', 'cut', false, 0, { ...goesOn, failures: 3 }],
    ['watches on after one silence', 'idle', false, 90_000, { ...goesOn, failures: 0, silences: 1 }],
    ['lists if the watch cannot continue', 'gone', true, 60_000, { ...listing, failures: 0 }],
  ]
  it.each(endings)('%s', (_what, reason, relist, livedMs, next) => {
    expect(afterWatch(watching, { reason, relist }, livedMs)).toMatchObject(next)
  })

  it('lists after two consecutive silences only', () => {
    const idle = { reason: 'idle', relist: false } as const
    const once = afterWatch(watching, idle, 90_000)
    expect(afterWatch(once, idle, 90_000)).toMatchObject(listing)
    const between = afterWatch(once, { reason: 'cut', relist: false }, 90_000)
    expect(afterWatch(between, idle, 90_000)).toMatchObject(goesOn)
  })

  it('pauses for longer with each failure, up to ten seconds, or for as long as the server asks', () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const after = (failures: number, error?: unknown) => pauseMs({ ...startListing, failures }, error)
    expect([0, 1, 2, 3, 20].map((failures) => after(failures))).toEqual([0, 200, 400, 800, 10_000])
    const busy = new KubeError(429, 'TooManyRequests', 'busy', { retryAfterMs: 30_000 })
    expect(after(1, busy)).toBe(30_000)
  })
})
