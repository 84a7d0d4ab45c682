// The disk of PostgreSQL fills up under load, data and log. It is a small file system in memory that the test mounts.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { identify } from '@matte/local/lifecycle/process-group'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { reportSkip } from '../../support/report/skips.ts'
import { type OwnServer, ownPostgres } from '../../support/servers.ts'
import { useStack } from '../../support/stack.ts'
import { until } from '../../support/until.ts'
import { type LoadedService, loadService } from './loaded-service.ts'

const timeout = 400_000 // a bound against hanging

const mount = (dir: string): unknown =>
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400m,mode=0755', 'matte-test', dir], { stdio: 'pipe' })
const unmount = (dir: string): unknown => execFileSync('umount', ['--lazy', dir], { stdio: 'pipe' })

function cannotMount(): boolean {
  const dir = mkdtempSync(join(tmpdir(), 'matte-mount-'))
  try {
    mount(dir)
    unmount(dir)
    return false
  } catch {
    reportSkip({ matching: 'full-disk', reason: 'this user cannot mount a small file system' })
    return true
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const settings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  max_wal_size: '64MB',
  min_wal_size: '32MB',
  max_connections: '100',
}

describe.skipIf(cannotMount())('a PostgreSQL whose disk is full', () => {
  let disk: string
  let server: OwnServer
  const stack = useStack({
    own: ['postgres'],
    startPostgres: async (dir) => {
      disk = join(dir, 'disk')
      mkdirSync(disk)
      mount(disk)
      const say = (line: string) => void process.stdout.write(`[servers] ${line}\n`)
      server = await ownPostgres({ dir: disk, say }, undefined, settings)
      return server
    },
    processes: [],
  })
  let service: LoadedService
  beforeAll(async () => {
    service = await loadService(stack, { lanes: 4 })
  })
  afterAll(async () => {
    await service?.close()
    if (disk) unmount(disk)
  })

  const isRunning = (): boolean => {
    try {
      const [pid] = readFileSync(join(disk, 'postgres/postmaster.pid'), 'utf8').split('\n')
      return identify(Number(pid)) !== undefined
    } catch {
      return false
    }
  }
  const filler = () => join(disk, 'filler')
  /** The server may take the last pages itself. */
  function fill(): void {
    const { bavail, bsize } = statfsSync(disk)
    try {
      writeFileSync(filler(), Buffer.alloc(bavail * bsize))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
  async function makeSpace(): Promise<void> {
    rmSync(filler())
    await until('the server answers', async () => {
      // The supervisor of the server starts it again.
      if (!isRunning()) await server.start()
      return await sql`select 1`.execute(stack.db)
    })
  }
  async function untilRefused(): Promise<void> {
    const before = service.refused()
    await until('callers get errors', () => service.refused() > before + 10)
  }

  it('answers with errors that callers repeat while tables cannot grow, and goes on', { timeout }, async () => {
    await service.untilMore(30)
    fill()
    await untilRefused()
    await makeSpace()
    await service.untilAccepted('the service accepts again')
  })

  it('does the same when the log cannot grow, which ends the sessions or the server', { timeout }, async () => {
    await service.untilMore(30)
    fill()
    // Uses up the files that the server has in stock.
    await until('the log is full', async () => {
      const failed = await sql`select pg_switch_wal()`.execute(stack.db).then(
        () => false,
        () => true,
      )
      return failed
    })
    await untilRefused()
    process.stdout.write(`with a full log the server ${isRunning() ? 'runs' : 'has ended'}\n`)
    await makeSpace()
    await service.untilAccepted('the service accepts again')
    await service.untilMore(30)
    await service.end()
    await service.expectAgreement()
  })
})
