import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { awaitFreePorts, listListeningPorts } from './await-free-ports.ts'

const servers: ReturnType<typeof createServer>[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

async function listen(): Promise<{ port: number; close: () => void }> {
  const server = createServer().listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() }
}

describe('awaitFreePorts', () => {
  it('returns when the last port is free, and says after a second what it waits for', async () => {
    const { port, close } = await listen()
    const said: string[] = []
    setTimeout(close, 1_300)
    expect(await awaitFreePorts([port], { say: (line) => said.push(line) })).toEqual([])
    expect(said).toEqual([`waiting up to 15 s until ${port} is free …`])
  })

  it('returns the ports that stay taken', async () => {
    const { port } = await listen()
    expect(await awaitFreePorts([port], { timeoutMs: 100 })).toEqual([port])
  })
})

describe('listListeningPorts', () => {
  it('contains a port while a server listens on it', async () => {
    const { port, close } = await listen()
    expect(listListeningPorts()).toContain(port)
    close()
    expect(listListeningPorts()).not.toContain(port)
  })
})
