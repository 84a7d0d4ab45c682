import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { awaitFreePorts, findPortConflicts } from './free-ports.ts'

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
  it('returns when the last port is free, and reports after a second what it waits for', async () => {
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

describe('findPortConflicts', () => {
  const takePort = async (host?: string): Promise<number> => {
    const server = createServer()
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, host, resolve))
    return (server.address() as AddressInfo).port
  }
  const findFreePort = async (): Promise<number> => {
    const port = await takePort('127.0.0.1')
    await new Promise((resolve) => servers.pop()?.close(resolve))
    return port
  }
  const use = (port: number, variable = 'MATTE_PORT') => ({ part: 'api' as const, port, what: 'the service', variable })

  it('names a taken port and the variable that moves it', async () => {
    const port = await takePort('127.0.0.1')
    expect(await findPortConflicts([use(port)], new Set())).toEqual([
      `Port ${port} (the service) is in use by another program: set MATTE_PORT to a free port.`,
    ])
  })

  it('detects a program that listens on all addresses', async () => {
    expect(await findPortConflicts([use(await takePort())], new Set())).toHaveLength(1)
  })

  it('finds no conflict with a free port, or with one held by an earlier process of this run', async () => {
    const free = await findFreePort()
    const ours = await takePort('127.0.0.1')
    expect(await findPortConflicts([use(free), use(ours, 'MATTE_NATS_PORT')], new Set([ours]))).toEqual([])
  })

  it('names two uses of one port', async () => {
    const port = await findFreePort()
    const conflicts = await findPortConflicts([use(port), use(port, 'MATTE_NATS_PORT')], new Set())
    expect(conflicts).toEqual([expect.stringMatching(/wanted for .* set MATTE_NATS_PORT/)])
  })
})
