// `make up`: runs the whole service as ordinary processes. All checks precede the first start; a second call keeps
// running parts with unchanged settings.
import { join } from 'node:path'
import { cutOutCommand } from './env-file.ts'
import { type Env, readExistingServers } from './environment.ts'
import { ensureFirstWorkspace } from './first-workspace.ts'
import { awaitFreePorts, findPortConflicts } from './lifecycle/free-ports.ts'
import { takeLock } from './lifecycle/lock.ts'
import { listRecords, type ProcessRecord, pidFileOf, readRecord, stopProcess } from './lifecycle/pid-file.ts'
import { isAlive } from './lifecycle/process-group.ts'
import { type Layout, readLayout } from './paths.ts'
import { listPortUses, type PartName, type Ports, readPorts } from './ports.ts'
import { sayToTerminal as say } from './say.ts'
import { readSecrets } from './secrets.ts'
import { startParts } from './start-parts.ts'

const begun = performance.now()
try {
  await up(process.env)
} catch (error) {
  const errors = error instanceof AggregateError ? error.errors : [error]
  for (const one of errors) process.stderr.write(`make up: ${one instanceof Error ? one.message : one}\n`)
  process.exitCode = 1
}

async function up(env: Env): Promise<void> {
  const layout = readLayout(env)
  const ports = readPorts(env)
  const existing = readExistingServers(env)
  const parts = new Set<PartName>(['api', 'worker', 'dispatcher'])
  if (!existing.databaseUrl) parts.add('postgres')
  if (!existing.natsUrl) parts.add('nats')
  if (!existing.s3) parts.add('object-store')
  if (!existing.tritonAddress) parts.add('triton')
  const unlock = await takeLock(layout.runDir, { name: 'make up', say })
  try {
    await removeDead(layout)
    await refuseTakenPorts(layout, ports, parts)
    const secrets = readSecrets(layout.localDir)
    const { common, apiUrl } = await startParts({ layout, ports, existing, parts, secrets, given: env, say })
    await ensureFirstWorkspace({ layout, apiUrl, env: common, say })
    sayHowToUse(layout, apiUrl)
  } finally {
    unlock()
  }
}

/** Removes what killed servers left, which may hold ports. */
async function removeDead(layout: Layout): Promise<void> {
  const dead = readRecords(layout).filter((record) => !isAlive(record))
  await Promise.all(dead.map(stopProcess))
}

async function refuseTakenPorts(layout: Layout, ports: Ports, parts: ReadonlySet<PartName>): Promise<void> {
  const records = readRecords(layout)
  const portsOf = (some: readonly ProcessRecord[]) => new Set(some.flatMap((record) => record.ports))
  const ours = portsOf(records.filter(isAlive))
  const uses = listPortUses(ports, parts)
  // Ports of an ended process may stay in use for a moment.
  const former = portsOf(records)
  const closing = uses.flatMap(({ port }) => (former.has(port) && !ours.has(port) ? [port] : []))
  await awaitFreePorts([...new Set(closing)], { say })
  const conflicts = await findPortConflicts(uses, ours)
  if (conflicts.length > 0) throw new AggregateError(conflicts.map((conflict) => new Error(conflict)))
}

function readRecords({ runDir }: Layout): ProcessRecord[] {
  return listRecords(runDir).flatMap((name) => readRecord(pidFileOf(runDir, name)) ?? [])
}

function sayHowToUse(layout: Layout, apiUrl: string): void {
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1)
  say(`
Matte is up after ${seconds} s.
  console    ${apiUrl}/   (register, or sign in with the key)
  API        ${apiUrl}/api/v1   (OpenAPI: ${apiUrl}/api/v1/openapi.json)
  docs       ${apiUrl}/docs
  key        . ${layout.envFile}   exports MATTE_BASE_URL and MATTE_API_KEY
  photos     make demo   cuts out the bundled ones
  mails      ${join(layout.logDir, 'dispatcher.log')}   (without SMTP_URL; open their links in a browser)
  logs       make logs        stop it    make down

Cut out a photo of your own, photo.jpg in the current folder:
  ${cutOutCommand(layout.envFile)}`)
}
