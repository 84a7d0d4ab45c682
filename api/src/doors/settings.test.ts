import { parseEnv } from '@matte/core/runtime/env'
import { describe, expect, it } from 'vitest'
import { checkDoors, doorSettings } from './settings.ts'

const workspace = '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'
const open = { DOORS_REMBG: 'true', DOORS_REMBG_NETWORKS: '10.0.0.0/8, fd00::/8', DOORS_REMBG_WORKSPACE: workspace }

const read = (env: Record<string, string>) => {
  const settings = parseEnv(doorSettings, env)
  checkDoors(settings)
  return settings
}

describe('settings of the doors', () => {
  it('keep both shut by default', () => {
    expect(read({})).toMatchObject({ doorsRemovebg: true, doorsRembg: false, doorsRembgNetworks: [] })
  })

  it('name networks, workspace and models of the door without keys', () => {
    const more = { DOORS_REMBG_MODELS: '{"u2net":"matte-u2net"}', DOORS_REMBG_HOSTS: 'Cut.example.com matte' }
    expect(read({ ...open, ...more })).toMatchObject({
      doorsRembgHosts: ['cut.example.com', 'matte'],
      doorsRembg: true,
      doorsRembgNetworks: ['10.0.0.0/8', 'fd00::/8'],
      doorsRembgWorkspace: workspace,
      doorsRembgModels: { u2net: 'matte-u2net' },
    })
  })

  it('name models of the door with keys by type', () => {
    const table = { car: 'matte-car', person: 'matte-people' }
    const settings = read({ DOORS_REMOVEBG_MODELS: JSON.stringify(table) })
    expect(settings.doorsRemovebgModels).toEqual(table)
    expect(read({}).doorsRemovebgModels).toEqual({})
  })

  it.each(['10.0.0.0/8', 'fc00::/7', 'FD00::/8', '2001:db8::/32', '2001::/16', '203.0.113.7/32'])(
    'accept the network %s',
    (network) => {
      expect(read({ ...open, DOORS_REMBG_NETWORKS: network }).doorsRembgNetworks).toEqual([network])
    },
  )

  it.each([
    ['DOORS_REMBG_HOSTS', 'matte:8080', 'matte:8080 is none'],
    ['DOORS_REMBG_HOSTS', 'https://matte', 'without scheme and port'],
    ['DOORS_REMBG_NETWORKS', '', 'name the networks of your clients'],
    ['DOORS_REMBG_NETWORKS', '0.0.0.0/0', 'must not hold 0.0.0.0/0'],
    ['DOORS_REMBG_NETWORKS', '10.0.0.0/8,::/0', 'must not hold ::/0'],
    ['DOORS_REMBG_NETWORKS', '10.0.0.0/00', 'must not hold 10.0.0.0/00'],
    ['DOORS_REMBG_NETWORKS', '::ffff:0:0/96', 'must not hold ::ffff:0:0/96'],
    ['DOORS_REMBG_NETWORKS', '0.0.0.0/1 128.0.0.0/1', 'must not hold 0.0.0.0/1'],
    ['DOORS_REMBG_NETWORKS', '10.0.0.0/7', 'at least /8'],
    ['DOORS_REMBG_NETWORKS', '2000::/3', 'must not hold 2000::/3'],
    ['DOORS_REMBG_NETWORKS', '2001::/15', 'at least /16'],
    ['DOORS_REMBG_NETWORKS', 'fc00::/6', 'must not hold fc00::/6'],
    ['DOORS_REMBG_NETWORKS', '10.0.0.0', '10.0.0.0 is invalid'],
    ['DOORS_REMBG_WORKSPACE', '', 'name the workspace'],
    ['DOORS_REMBG_WORKSPACE', 'mine', 'must be the id of a workspace'],
    ['DOORS_REMBG_MODELS', '{"u3net":"matte-u2net"}', 'must name models of rembg'],
    ['DOORS_REMBG_MODELS', '{"u2net":7}', 'must map u2net'],
    ['DOORS_REMBG_MODELS', '[]', 'must be a JSON object'],
    ['DOORS_REMOVEBG_MODELS', '{"ghost":"matte"}', 'must name types: auto, person'],
    ['DOORS_REMOVEBG_MODELS', '{"car":""}', 'must map car'],
  ])('refuse %s=%s with what to do', (name, value, words) => {
    expect(() => read({ ...open, [name]: value })).toThrow(name)
    expect(() => read({ ...open, [name]: value })).toThrow(words)
  })
})
