import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { takeLock } from './lock.ts'

let runDir: string
const say = (): void => {}
beforeEach(() => {
  runDir = mkdtempSync(join(tmpdir(), 'matte-lock-'))
})
afterEach(() => rmSync(runDir, { recursive: true }))

/** A program that takes the lock as `make up`, prints `taken` and runs until it is killed. */
function spawnHolder() {
  const script = `
    import { takeLock } from ${JSON.stringify(join(import.meta.dirname, 'lock.ts'))}
    await takeLock(${JSON.stringify(runDir)}, { name: 'make up', say() {} })
    process.stdout.write('taken')
    setInterval(() => {}, 1_000)`
  return spawn(process.execPath, ['--input-type=module', '-e', script])
}

describe('takeLock', () => {
  it('leaves no file behind and can be taken again after its release', async () => {
    for (let round = 0; round < 2; round++) {
      const unlock = await takeLock(runDir, { name: 'make up', say })
      unlock()
    }
    expect(readdirSync(runDir)).toEqual([])
  })

  it('rejects at once while a make up runs', async () => {
    const unlock = await takeLock(runDir, { name: 'make up', say })
    await expect(takeLock(runDir, { name: 'make down', say })).rejects.toThrow(
      `make up (process ${process.pid}) is already running here: wait for its end.`,
    )
    unlock()
  })

  it('waits for a make down and reports it after a second', async () => {
    setTimeout(await takeLock(runDir, { name: 'make down', say }), 1_300)
    const said: string[] = []
    const unlock = await takeLock(runDir, { name: 'make up', say: (line) => said.push(line) })
    expect(said).toEqual([`waiting up to 60 s for make down (process ${process.pid}) to end …`])
    unlock()
  })

  it('rejects when a make down does not end within the limit', async () => {
    const unlock = await takeLock(runDir, { name: 'make down', say })
    const taking = takeLock(runDir, { name: 'make up', say, timeoutMs: 100 })
    await expect(taking).rejects.toThrow(/^make down .* is already running here/)
    unlock()
  })

  it('is free again once its process is killed', async () => {
    const holder = spawnHolder()
    await once(holder.stdout, 'data')
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    const unlock = await takeLock(runDir, { name: 'make up', say })
    unlock()
  })

  it('goes to one of several programs that start together', async () => {
    const programs = Array.from({ length: 4 }, spawnHolder)
    const outcomes = programs.map((one) =>
      Promise.race([once(one.stdout, 'data').then(() => 'taken'), once(one, 'exit').then(() => 'rejected')]),
    )
    expect((await Promise.all(outcomes)).sort()).toEqual(['rejected', 'rejected', 'rejected', 'taken'])
    for (const one of programs) one.kill('SIGKILL')
  })
})
