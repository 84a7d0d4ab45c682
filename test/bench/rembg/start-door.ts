// A second API of the installation whose door accepts the requests of rembg's server.
import { join } from 'node:path'
import { startProcess } from '@matte/local/servers/process'
import pg from 'pg'
import { freePorts, nodeEnv } from '../../support/free-ports.ts'
import type { Installation } from '../installation.ts'

type Door = { readonly url: string; stop(): Promise<void> }

export async function startDoor({ env, runDir }: Installation): Promise<Door> {
  const [port = 0, healthPort = 0] = await freePorts(2)
  const server = await startProcess({
    name: 'api',
    env: {
      ...nodeEnv(),
      ...env,
      PORT: String(port),
      HEALTH_PORT: String(healthPort),
      DOORS_REMBG: 'true',
      DOORS_REMBG_NETWORKS: '127.0.0.0/8',
      DOORS_REMBG_WORKSPACE: await firstWorkspace(env.DATABASE_URL ?? ''),
    },
    healthPort,
    port,
    logFile: join(runDir, 'door.log'),
    lifetime: 'attached',
  })
  return { url: server.url, stop: () => server.stop() }
}

async function firstWorkspace(connectionString: string): Promise<string> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    const { rows } = await client.query<{ id: string }>('select id from workspace order by created_at limit 1')
    return rows[0]?.id ?? ''
  } finally {
    await client.end()
  }
}
