import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { findPortFaults, listPortUses, type PartName, readPorts } from './ports.ts'

describe('readPorts', () => {
  it('takes the default of a variable that is absent or empty', () => {
    expect(readPorts({ MATTE_PORT: '', MATTE_NATS_PORT: '5000' })).toMatchObject({ api: 8080, nats: 5000, s3: 8343 })
  })

  it('names every variable that is no port', () => {
    const read = () => readPorts({ MATTE_PORT: '70000', MATTE_S3_PORT: 'x', MATTE_NATS_PORT: '4242' })
    expect(read).toThrow(/MATTE_PORT must be a port.*\nMATTE_S3_PORT must be a port/)
  })
})

describe('listPortUses', () => {
  it('lists the ports of these parts only, the inner ones of the object store included', () => {
    const ports = readPorts({})
    const parts = new Set<PartName>(['nats', 'object-store'])
    const uses = listPortUses(ports, parts)
    expect(new Set(uses.map((use) => use.part))).toEqual(parts)
    expect(uses.filter((use) => use.variable === 'MATTE_S3_PORT')).toHaveLength(10)
    expect(new Set(uses.map((use) => use.port)).size).toBe(uses.length)
  })

  it('keeps the inner ports valid for an S3 port near the end of the range', () => {
    const uses = listPortUses(readPorts({ MATTE_S3_PORT: '65535' }), new Set<PartName>(['object-store']))
    expect(uses.every((use) => use.port <= 65_535)).toBe(true)
  })
})

describe('findPortFaults', () => {
  const servers: ReturnType<typeof createServer>[] = []
  afterEach(() => {
    for (const server of servers.splice(0)) server.close()
  })

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
    expect(await findPortFaults([use(port)], new Set())).toEqual([
      `Port ${port} (the service) is taken by another program: set MATTE_PORT to a free port.`,
    ])
  })

  it('sees a program that listens on all addresses', async () => {
    expect(await findPortFaults([use(await takePort())], new Set())).toHaveLength(1)
  })

  it('finds no fault with a free port, nor with one on which a process of ours listens', async () => {
    const free = await findFreePort()
    const ours = await takePort('127.0.0.1')
    expect(await findPortFaults([use(free), use(ours, 'MATTE_NATS_PORT')], new Set([ours]))).toEqual([])
  })

  it('names two uses of one port', async () => {
    const port = await findFreePort()
    const faults = await findPortFaults([use(port), use(port, 'MATTE_NATS_PORT')], new Set())
    expect(faults).toEqual([expect.stringMatching(/wanted for .* set MATTE_NATS_PORT/)])
  })
})
