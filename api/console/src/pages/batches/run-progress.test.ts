import { describe, expect, it } from 'vitest'
import { addEnd, countRun, groupFailures, type Run, readDone, resultPath } from './run-progress.ts'

const run = (change: Partial<Run>): Run => ({
  id: '1',
  scope: 's',
  name: 'shoes',
  createdAt: '2026-11-24T00:00:00.000Z',
  totalCount: 10,
  failures: [],
  state: 'running',
  done: new Map(),
  activeCount: 0,
  endsMs: [],
  stopped: undefined,
  ...change,
})

describe('the numbers of a run', () => {
  it('tell done, failed, active and waiting photos apart', () => {
    const failures = [{ path: 'c', code: 'X', message: 'x' }]
    const numbers = countRun(run({ done: new Map([['a', '1']]), failures, activeCount: 4 }), 0)
    expect(numbers).toMatchObject({ doneCount: 1, failedCount: 1, activeCount: 4, waitingCount: 4 })
  })

  it('have a rate and the time left once some photos are done', () => {
    const done = new Map(['a', 'b', 'c', 'd'].map((path) => [path, path]))
    const numbers = countRun(run({ done, activeCount: 2, endsMs: [0, 1_000, 2_000, 3_000] }), 4_000)
    expect(numbers).toMatchObject({ perMinute: 60, leftMs: 6_000 })
  })

  it('have none from too few or too old ends, or while paused', () => {
    const none = { perMinute: undefined, leftMs: undefined }
    expect(countRun(run({ endsMs: [0, 10] }), 20)).toMatchObject(none)
    expect(countRun(run({ endsMs: [0, 10, 20] }), 100_000)).toMatchObject(none)
    expect(countRun(run({ endsMs: [0, 10, 20], state: 'paused' }), 30)).toMatchObject(none)
  })

  it('forget old ends', () => {
    expect(addEnd([0, 50_000], 70_000)).toEqual([50_000, 70_000])
  })
})

it('reads the photos that are done from a manifest, torn lines aside', () => {
  const lines = [
    { matte: 'manifest', version: 1 },
    { key: 'a', state: 'creating' },
    { key: 'a', state: 'created', taskId: '1' },
    { key: 'a', state: 'done', taskId: '1' },
    { key: 'b', state: 'created', taskId: '2' },
    { key: 'c', state: 'done', taskId: '3' },
    { key: 'c', state: 'creating' },
  ]
  const manifest = `${lines.map((line) => JSON.stringify(line)).join('\n')}\n{"key":"d","sta`
  expect(readDone(manifest)).toEqual(new Map([['a', '1']]))
})

it('groups failures by their reason', () => {
  const failures = [
    { path: 'a', code: 'INPUT_UNREADABLE', message: 'Damaged.' },
    { path: 'b', code: 'CREDITS_INSUFFICIENT', message: 'No credits.' },
    { path: 'c', code: 'CREDITS_INSUFFICIENT', message: 'No credits.' },
  ]
  expect(groupFailures(failures).map(({ code, paths }) => [code, paths])).toEqual([
    ['CREDITS_INSUFFICIENT', ['b', 'c']],
    ['INPUT_UNREADABLE', ['a']],
  ])
})

it('keeps folders in the names of results', () => {
  expect(resultPath('shoes/red.v1/a.b.jpg', 'png')).toBe('shoes/red.v1/a.b.png')
  expect(resultPath('shoes.d/a', 'jpeg')).toBe('shoes.d/a.jpg')
})
