import { describe, expect, it } from 'vitest'
import { listPortUses, type PartName, readPorts } from './ports.ts'

describe('readPorts', () => {
  it('uses the default if a variable is absent or empty', () => {
    expect(readPorts({ MATTE_PORT: '', MATTE_NATS_PORT: '5000' })).toMatchObject({ api: 8080, nats: 5000, s3: 8343 })
  })

  it('names every variable that is not a port', () => {
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
