import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withDefaults } from '../pool/triton-pool.ts'
import { containerArguments } from './triton-arguments.ts'

const models = join(import.meta.dirname, '../../../../models')

/** The script writes below /tmp/models, so a run has a folder of its own by way of its sources' path. */
let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'matte-models-'))
  execFileSync('cp', ['-r', join(models, 'u2netp'), dir])
})
afterAll(() => {
  rmSync(dir, { recursive: true, force: true })
  rmSync(`/tmp/models${dir}`, { recursive: true, force: true })
})

function prepare(names: readonly string[]): string {
  const spec = withDefaults({
    models: names.map((name) => ({ name, modelVersion: name, source: { imagePath: dir } })),
    resources: { limits: { cpu: '6' } },
  })
  const args = containerArguments(spec, { uid: 'uid', ipv6: false })
  const [command = '', ...rest] = args.slice(0, args.indexOf('--') + 1)
  return execFileSync(command, [...rest, 'echo', 'started'], { encoding: 'utf8' })
}

describe('the copy of a model repository for so many cores', () => {
  it('has one instance to a core, and everything else as it was', () => {
    expect(prepare(['u2netp'])).toBe('started\n')
    const copy = `/tmp/models${dir}/u2netp`
    const original = readFileSync(join(dir, 'u2netp/configs/cpu.pbtxt'), 'utf8')
    const written = readFileSync(`${copy}/configs/cpu.pbtxt`, 'utf8')
    expect(written).toBe(original.replace('kind: KIND_CPU count: 1', 'kind: KIND_CPU count: 6'))
    expect(written).not.toBe(original)
    expect(readlinkSync(`${copy}/1`)).toBe(join(dir, 'u2netp/1'))
    expect(readFileSync(`${copy}/config.pbtxt`, 'utf8')).toBe(readFileSync(join(dir, 'u2netp/config.pbtxt'), 'utf8'))
  })

  it('can be created again, as after a restart of the container', () => {
    prepare(['u2netp'])
    expect(prepare(['u2netp'])).toBe('started\n')
  })

  it('starts Triton although a model is missing, which Triton reports', () => {
    expect(prepare(['u2netp', 'absent'])).toBe('started\n')
  })
})
