// Follows docs/operations/upgrade-postgres.md from PostgreSQL 15 to 18, with the service under load until the stop.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openPage, type RunSection } from '../../cluster/page/page.ts'
import { connectTo } from '../../support/database.ts'
import { reportSkip } from '../../support/report/skips.ts'
import { type OwnServer, ownPostgres } from '../../support/servers.ts'
import { useStack } from '../../support/stack.ts'
import { findSystemPostgres } from '../../support/system-postgres.ts'
import { until } from '../../support/until.ts'
import { type LoadedService, loadService } from './loaded-service.ts'

const timeout = 400_000 // a bound against hanging
const processes = ['api', 'worker', 'dispatcher'] as const
const old = findSystemPostgres(15)
if (old === undefined) reportSkip({ matching: 'upgrade.test', reason: 'no PostgreSQL 15 (Debian: postgresql-15)' })

describe.skipIf(old === undefined)('the page about a major upgrade of PostgreSQL', () => {
  const say = (line: string) => void process.stdout.write(`[servers] ${line}\n`)
  const durable = { fsync: 'on', synchronous_commit: 'on' }
  const stack = useStack({
    own: ['postgres'],
    startPostgres: (dir) => ownPostgres({ dir, say }, old, { ...durable, wal_level: 'logical' }),
    processes: [],
  })
  let next: OwnServer
  let service: LoadedService
  let [oldUrl, newUrl] = ['', '']
  let run: RunSection

  beforeAll(async () => {
    const dir = join(inject('runDir'), 'upgrade')
    mkdirSync(dir, { recursive: true, mode: 0o755 })
    next = await ownPostgres({ dir, say }, undefined, durable)
    oldUrl = stack.env('api').DATABASE_URL ?? ''
    const { pathname } = new URL(oldUrl)
    newUrl = Object.assign(new URL(next.url), { pathname }).href
    await ask(next.url, `create database ${pathname.slice(1)}`)
    service = await loadService(stack, { lanes: 4 })
    run = openPage('upgrade-postgres.md', { dir, env: { OLD_URL: oldUrl, NEW_URL: newUrl, SOURCE_URL: oldUrl } })
  })
  afterAll(async () => {
    await service?.close()
    await next?.stop()
  })

  async function ask(url: string, text: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }
  const versionOf = async (url: string) => Number((await ask(url, 'show server_version_num'))[0]?.server_version_num)

  it('moves the service to the new version, and nothing accepted is lost', { timeout }, async () => {
    expect([await versionOf(oldUrl), await versionOf(newUrl)].map((version) => Math.floor(version / 10_000))).toEqual([
      15, 18,
    ])
    await service.untilMore(30)
    await run('Check the old server')
    await run('Copy the users')
    await run('Copy the schema')
    await run('Replicate')
    await service.untilMore(30) // rows that only the replication carries

    const begun = performance.now()
    await Promise.all(processes.map((name) => stack.process(name).stop()))
    await run('Fence the old server')
    await expect(ask(oldUrl, 'delete from task')).rejects.toMatchObject({ code: '25006' })
    await run('Copy the sequences')
    await run('Compare')
    await run('Finish')
    await Promise.all(processes.map((name) => service.start(name, { DATABASE_URL: newUrl })))
    await service.untilAccepted('the service accepts on the new server')
    process.stdout.write(`without service: ${((performance.now() - begun) / 1_000).toFixed(1)} s\n`)
    await service.untilMore(30)
    await service.end()

    const now = connectTo(newUrl)
    try {
      await service.expectAgreement({ also: ['no answer'], now: now.db })
    } finally {
      await now.stop()
    }
  })

  it('leaves nothing behind on either server', async () => {
    const left = `select (select count(*) from pg_publication) + (select count(*) from pg_subscription) +
      (select count(*) from pg_replication_slots) as count`
    for (const url of [oldUrl, newUrl]) expect(await ask(url, left)).toEqual([{ count: 0 }])
    await until('statistics are there', async () => {
      const [row] = await ask(newUrl, `select count(*)::int as count from pg_stats where schemaname = 'public'`)
      return Number(row?.count) > 0
    })
  })
})
