import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { takeLock } from './lock.ts'
import { identify } from './process-identity.ts'

let runDir: string
const say = (): void => {}
beforeEach(() => {
  runDir = mkdtempSync(join(tmpdir(), 'matte-lock-'))
})
afterEach(() => rmSync(runDir, { recursive: true }))

const hold = (pid: number, name: string): void =>
  writeFileSync(join(runDir, 'lock'), JSON.stringify({ ...identify(pid), name }))

describe('takeLock', () => {
  it('leaves nothing behind when it is released', async () => {
    const unlock = await takeLock(runDir, { name: 'make up', say })
    expect(readdirSync(runDir)).toEqual(['lock'])
    unlock()
    expect(readdirSync(runDir)).toEqual([])
  })

  it('refuses at once while a make up runs', async () => {
    hold(process.pid, 'make up')
    await expect(takeLock(runDir, { name: 'make up', say })).rejects.toThrow(
      `make up is already running here (process ${process.pid}): wait for its end.`,
    )
  })

  it('waits for a make down and says so after a second', async () => {
    const down = spawn('sleep', ['1.3'])
    await once(down, 'spawn')
    hold(down.pid ?? 0, 'make down')
    const said: string[] = []
    const unlock = await takeLock(runDir, { name: 'make up', say: (line) => said.push(line) })
    expect(said).toEqual([`waiting up to 60 s for make down (process ${down.pid}) to end …`])
    unlock()
  })

  it('refuses when a make down does not end within the limit', async () => {
    hold(process.pid, 'make down')
    const taking = takeLock(runDir, { name: 'make up', say, timeoutMs: 100 })
    await expect(taking).rejects.toThrow('make down is already running here')
  })

  it('takes over the lock of a killed process', async () => {
    const { pid } = spawnSync('true')
    writeFileSync(join(runDir, 'lock'), JSON.stringify({ pid, born: 'another boot/1', name: 'make up' }))
    const unlock = await takeLock(runDir, { name: 'make up', say })
    unlock()
    expect(readdirSync(runDir)).toEqual([])
  })

  it('is taken by one of many that find the lock of a killed process', async () => {
    writeFileSync(join(runDir, 'lock'), JSON.stringify({ pid: 1, born: 'another boot/1', name: 'make up' }))
    const script = `
      import { takeLock } from ${JSON.stringify(join(import.meta.dirname, 'lock.ts'))}
      await takeLock(${JSON.stringify(runDir)}, { name: 'make up', say() {} })
      process.stdout.write('taken')
      setInterval(() => {}, 1_000)`
    const programs = Array.from({ length: 4 }, () => spawn(process.execPath, ['--input-type=module', '-e', script]))
    const outcomes = programs.map((one) =>
      Promise.race([once(one.stdout, 'data').then(() => 'taken'), once(one, 'exit').then(() => 'refused')]),
    )
    expect((await Promise.all(outcomes)).sort()).toEqual(['refused', 'refused', 'refused', 'taken'])
    for (const one of programs) one.kill('SIGKILL')
  })
})
