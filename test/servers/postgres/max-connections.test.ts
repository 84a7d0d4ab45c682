// Other programs take every connection of the server, up to `max_connections`.
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { urlAs } from '../../support/roles.ts'
import { useStack } from '../../support/stack.ts'
import { until } from '../../support/until.ts'
import { type LoadedService, loadService } from './loaded-service.ts'

const timeout = 400_000 // a bound against hanging

describe('a PostgreSQL at max_connections', () => {
  const stack = useStack({ own: ['postgres'], postgresSettings: { max_connections: '40' }, processes: [] })
  const holders: pg.Client[] = []
  let service: LoadedService
  beforeAll(async () => {
    service = await loadService(stack, { lanes: 4 })
  })
  afterAll(async () => {
    await release()
    await service?.close()
  })

  const release = () => Promise.all(holders.splice(0).map((client) => client.end().catch(() => undefined)))

  /** Opens connections until the server has none left. */
  async function takeAll(): Promise<void> {
    const connectionString = urlAs('api', stack.env('api').DATABASE_URL ?? '')
    for (;;) {
      const client = new pg.Client({ connectionString, application_name: 'holder' })
      client.on('error', () => undefined)
      try {
        await client.connect()
        holders.push(client)
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === '53300') return
        throw error
      }
    }
  }
  /** Ends the sessions of Matte and takes their connections. The test uses a reserved one. */
  async function endSessions(): Promise<void> {
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
       where usename <> 'matte' and application_name <> 'holder' and datname = current_database()`.execute(stack.db)
    await takeAll()
  }

  it('serves with the connections that the processes have', { timeout }, async () => {
    await service.untilMore(20)
    await takeAll()
    await service.untilAccepted('the service accepts with a full server')
    await service.untilMore(30)
  })

  it('answers with errors that callers repeat while it has none, and goes on', { timeout }, async () => {
    const before = service.refused()
    await until('callers get errors', async () => {
      await endSessions() // again each time, because a process may be faster than the test
      return service.refused() > before + 20
    })
    await release()
    await service.untilAccepted('the service accepts again')
    await service.untilMore(30)
    await service.end()
    await service.expectAgreement()
  })
})
