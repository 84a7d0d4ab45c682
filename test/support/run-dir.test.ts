import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createRunDir, keepRunDir } from './run-dir.ts'

let parent: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'run-dir-'))
})
afterEach(() => rmSync(parent, { recursive: true }))

const makeOwnerDead = (dir: string): void => writeFileSync(join(dir, 'owner.json'), '{"pid":1,"born":"another boot"}')

it('leaves the folder of a run that goes on', () => {
  const running = createRunDir(parent)
  createRunDir(parent)
  expect(existsSync(running)).toBe(true)
})

it('removes the folder of a run that was killed', () => {
  const killed = createRunDir(parent)
  makeOwnerDead(killed)
  createRunDir(parent)
  expect(existsSync(killed)).toBe(false)
})

it('keeps the folder of a failed run for a day', () => {
  const failed = createRunDir(parent)
  makeOwnerDead(failed)
  keepRunDir(failed)
  createRunDir(parent)
  expect(existsSync(failed)).toBe(true)
  const dayAgo = Date.now() / 1_000 - 25 * 3_600
  utimesSync(join(failed, 'kept'), dayAgo, dayAgo)
  createRunDir(parent)
  expect(existsSync(failed)).toBe(false)
})
