// `make down`: stops what `make up` started and nothing else. Our processes go first, so that they finish their work
// while the servers they need are still there.
import { rmSync } from 'node:fs'
import { takeLock } from './lifecycle/lock.ts'
import { listRecords, pidFileOf, readRecord, stopProcess } from './lifecycle/pid-file.ts'
import { readLayout } from './paths.ts'
import { awaitFreePorts } from './ports/await-free-ports.ts'
import { sayToTerminal as say } from './say.ts'

const processNames = ['api', 'controller', 'dispatcher']

const { runDir } = readLayout(process.env)
try {
  const unlock = await takeLock(runDir, { name: 'make down', say })
  try {
    const names = listRecords(runDir)
    const stopped = [
      ...(await stopAll(names.filter((name) => processNames.includes(name)))),
      ...(await stopAll(names.filter((name) => !processNames.includes(name)))),
    ]
    if (stopped.every((was) => !was)) say('Nothing was running.')
  } finally {
    unlock()
  }
} catch (error) {
  process.stderr.write(`make down: ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}

function stopAll(names: readonly string[]): Promise<boolean[]> {
  return Promise.all(names.map(stopOne))
}

async function stopOne(name: string): Promise<boolean> {
  const pidFile = pidFileOf(runDir, name)
  const record = readRecord(pidFile)
  const was = record !== undefined && (await stopProcess(record))
  const taken = was ? await awaitFreePorts(record.ports, { say }) : []
  if (taken.length > 0) {
    throw new Error(`${name} has stopped, but a process that it started still uses port ${taken.join(', ')}: end that.`)
  }
  rmSync(pidFile, { force: true })
  if (was) say(`stopped ${name}`)
  return was
}
