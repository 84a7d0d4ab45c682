import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { identify } from '@matte/local/lifecycle/process-group'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createRunDir, keepRunDir } from './run-dir.ts'
import { until } from './until.ts'

let parent: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'matte-run-dir-'))
})
afterEach(() => rmSync(parent, { recursive: true }))

const makeOwnerDead = (dir: string): void => writeFileSync(join(dir, 'owner.json'), '{"pid":1,"born":"another boot"}')

function makeOld(path: string): void {
  const dayAgo = Date.now() / 1_000 - 25 * 3_600
  utimesSync(path, dayAgo, dayAgo)
}

it('keeps the folder of a run in progress', () => {
  const running = createRunDir(parent)
  createRunDir(parent)
  expect(existsSync(running)).toBe(true)
})

it('removes the folder of a killed run', () => {
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
  makeOld(join(failed, 'kept'))
  createRunDir(parent)
  expect(existsSync(failed)).toBe(false)
})

it('removes temporary folders with our prefix that are older than a day, and no folder of the user', () => {
  const [old, fresh] = ['matte-run-dir-a1B2c3', 'matte-run-dir-d4E5f6']
  const names = [old, fresh, 'python_env_a1B2c3', 'matte-compile-cache', 'matte-main', 'matte-my-photos', 'other']
  for (const name of names) mkdirSync(join(parent, name))
  for (const name of names.filter((one) => one !== fresh)) makeOld(join(parent, name))
  createRunDir(parent)
  const left = names.filter((name) => existsSync(join(parent, name)))
  expect(left).toEqual([fresh, 'matte-compile-cache', 'matte-main', 'matte-my-photos', 'other'])
})

it('ends the processes of a killed run', async () => {
  const killed = createRunDir(parent)
  const child = spawn('sleep', ['600'], { env: { ...process.env, MATTE_TEST_RUN: killed } })
  const other = spawn('sleep', ['600'], { env: { ...process.env, MATTE_TEST_RUN: `${killed}x` } })
  const ended = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)))
  makeOwnerDead(killed)
  createRunDir(parent)
  expect(await ended).toBe('SIGKILL')
  expect(identify(other.pid ?? 0)).toBeDefined()
  other.kill('SIGKILL')
})

it('ends with its runner: children are killed and the folder is removed', async () => {
  const script = `
    import { spawn } from 'node:child_process'
    import { startRun } from ${JSON.stringify(join(import.meta.dirname, 'run-dir.ts'))}
    const dir = startRun(${JSON.stringify(parent)})
    const { pid } = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' })
    process.stdout.write(JSON.stringify({ dir, pid }))`
  const runner = spawn(process.execPath, ['--input-type=module', '-e', script])
  const said = await new Promise<Buffer>((resolve) => runner.stdout.once('data', resolve))
  const { dir, pid } = JSON.parse(said.toString()) as { dir: string; pid: number }
  expect(identify(pid)).toBeDefined()
  runner.kill('SIGKILL')
  await until('its child has ended', () => identify(pid) === undefined)
  await until('its folder is removed', () => !existsSync(dir))
})

it('ends servers that a worker of a killed run has started', async () => {
  const module = (path: string) => JSON.stringify(join(import.meta.dirname, path))
  const worker = `import(${module('../../local/src/lifecycle/server.ts')}).then(({ startServer }) => startServer({
    name: 'sleep', command: '/bin/sleep', args: ['600'], env: { PATH: process.env.PATH }, ports: [], url: '',
    ready: async () => true, logFile: process.env.MATTE_TEST_RUN + '/log', lifetime: 'attached',
  })).then(({ pid }) => process.stdout.write(pid + '\\n'))
  setInterval(() => {}, 1_000)`
  const runner = `import(${module('run-dir.ts')}).then(({ startRun }) => {
    startRun(${JSON.stringify(parent)})
    require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(worker)}], { stdio: 'inherit' })
  })
  setInterval(() => {}, 1_000)`
  const child = spawn(process.execPath, ['-e', runner], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
  const server = Number(await new Promise((resolve) => child.stdout?.once('data', resolve)))
  expect(identify(server)).toBeDefined()
  process.kill(-(child.pid ?? 0), 'SIGKILL')
  await until('the server has ended', () => identify(server) === undefined)
})
