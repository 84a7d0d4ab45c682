import { afterEach, expect, it, vi } from 'vitest'
import { createOutput } from '../print/output.ts'
import { createReport } from './report.ts'

const { isTTY } = process.stderr
afterEach(() => {
  process.stderr.isTTY = isTTY
  vi.restoreAllMocks()
})

function given(isTerminal: boolean) {
  process.stderr.isTTY = isTerminal
  const written: string[] = []
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  return written
}

it('shows the steps of a single image on a terminal, and removes them before its outcome', () => {
  const written = given(true)
  const report = createReport(createOutput({}), 1)
  report.progress?.({ state: 'uploading', loadedBytes: 500_000, totalBytes: 1_000_000 })
  report.progress?.({ state: 'queued', loadedBytes: 0, totalBytes: undefined })
  report.progress?.({ state: 'processing', loadedBytes: 0, totalBytes: undefined })
  report.progress?.({ state: 'processing', loadedBytes: 0, totalBytes: undefined })
  report.progress?.({ state: 'downloading', loadedBytes: 2_000, totalBytes: undefined })
  report.add({ input: 'a.jpg', output: 'a.png', status: 'skipped', reason: 'done' })
  expect(written.filter((text) => text !== '' && text !== '\r\u001b[2K')).toEqual([
    'Uploading 500 kB of 1.0 MB',
    'Waiting in the queue',
    'Removing the background',
    'Downloading 2.0 kB',
    'a.jpg → a.png  skipped: done\n',
  ])
  expect(written.at(-3)).toBe('\r\u001b[2K')
})

it('shows no steps without a terminal, with --json or --quiet, and for many images', () => {
  given(false)
  expect(createReport(createOutput({}), 1).progress).toBeUndefined()
  given(true)
  expect(createReport(createOutput({ json: true }), 1).progress).toBeUndefined()
  expect(createReport(createOutput({ quiet: true }), 1).progress).toBeUndefined()
  expect(createReport(createOutput({}), undefined).progress).toBeUndefined()
})
