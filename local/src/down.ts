// `make down`: stops what `make up` started. The processes stop before the servers that they need.
import { rmSync } from 'node:fs'
import { awaitFreePorts } from './lifecycle/free-ports.ts'
import { takeLock } from './lifecycle/lock.ts'
import { listRecords, pidFileOf, readRecord, stopProcess } from './lifecycle/pid-file.ts'
import { readLayout } from './paths.ts'
import { sayToTerminal as say } from './say.ts'

const processNames = ['api', 'worker', 'dispatcher']

const { runDir } = readLayout(process.env)
try {
  const unlock = await takeLock(runDir, { name: 'make down', say })
  try {
    const names = listRecords(runDir)
    const stops = [
      ...(await stopAll(names.filter((name) => processNames.includes(name)))),
      ...(await stopAll(names.filter((name) => !processNames.includes(name)))),
    ]
    const errors = stops.flatMap((stop) => (stop.status === 'rejected' ? [stop.reason] : []))
    if (errors.length > 0) throw new AggregateError(errors)
    if (stops.every((stop) => stop.status === 'fulfilled' && !stop.value)) say('Nothing was running.')
  } finally {
    unlock()
  }
} catch (error) {
  const errors = error instanceof AggregateError ? error.errors : [error]
  for (const one of errors) process.stderr.write(`make down: ${one instanceof Error ? one.message : one}\n`)
  process.exitCode = 1
}

function stopAll(names: readonly string[]): Promise<PromiseSettledResult<boolean>[]> {
  return Promise.allSettled(names.map(stopOne))
}

async function stopOne(name: string): Promise<boolean> {
  const pidFile = pidFileOf(runDir, name)
  const record = readRecord(pidFile)
  const was = record !== undefined && (await stopProcess(record))
  const taken = was ? await awaitFreePorts(record.ports, { say }) : []
  if (taken.length > 0) {
    throw new Error(
      `${name} has stopped, but a process that it started still uses port ${taken.join(', ')}. End that process.`,
    )
  }
  rmSync(pidFile, { force: true })
  if (was) say(`stopped ${name}`)
  return was
}
