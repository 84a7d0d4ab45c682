import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { withDefaults } from '../pool/triton-pool.ts'
import { containerArguments } from './triton-arguments.ts'

const models = join(import.meta.dirname, '../../../../models')

/** Has the sources, and the copies that the script writes to /tmp/models in a pod. */
let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'matte-models-'))
  execFileSync('cp', ['-r', join(models, 'u2netp'), dir])
})
afterEach(() => vi.unstubAllEnvs())
afterAll(() => {
  rmSync(dir, { recursive: true, force: true })
})

/** Flags of Intel processors of 2023, 2019 and 2024 (without AVX-512), and of one without any of these. */
const flags = {
  amx: 'flags\t\t: fpu avx2 avx512f avx512_vnni amx_bf16 amx_tile amx_int8\n',
  avx512: 'flags\t\t: fpu avx2 avx512f avx512_vnni hypervisor\n',
  avx: 'flags\t\t: fpu avx2 avx_vnni serialize\n',
  none: 'flags\t\t: fpu avx2 avx_vnni_int8 avx512f avx512_vnniw\n',
} as const

type Given = { processor?: keyof typeof flags; cpu?: string; checksum?: string }

function prepare(names: readonly string[], { processor = 'none', cpu = '6', checksum }: Given = {}): string {
  const source = { imagePath: dir }
  const spec = withDefaults({
    models: names.map((name) => ({ name, modelVersion: name, source, ...(checksum && { checksum }) })),
    resources: { limits: { cpu } },
  })
  const cpuinfo = join(dir, 'cpuinfo')
  writeFileSync(cpuinfo, `processor\t: 0\n${flags[processor]}`)
  const args = containerArguments(spec, { uid: 'uid', ipv6: false })
  const [command = '', ...rest] = args.slice(0, args.indexOf('--') + 1)
  const mocked = rest.map((arg) => (arg === '/proc/cpuinfo' ? cpuinfo : arg.replaceAll('/tmp/models', `${dir}/copies`)))
  return execFileSync(command, [...mocked, 'echo', 'started'], { encoding: 'utf8' })
}

const configs = (name: string) => readFileSync(join(dir, 'u2netp/configs', `${name}.pbtxt`), 'utf8')
const written = () => readFileSync(`${dir}/copies${dir}/u2netp/configs/cpu.pbtxt`, 'utf8')

describe('the copy of a model repository for a number of cores', () => {
  it('has one instance per core, and is otherwise unchanged', () => {
    expect(prepare(['u2netp'])).toBe('model u2netp: configs/cpu.pbtxt\nstarted\n')
    const copy = `${dir}/copies${dir}/u2netp`
    const original = configs('cpu')
    expect(written()).toBe(original.replace('kind: KIND_CPU count: 1', 'kind: KIND_CPU count: 6'))
    expect(written()).not.toBe(original)
    expect(readlinkSync(`${copy}/1`)).toBe(join(dir, 'u2netp/1'))
    expect(readFileSync(`${copy}/config.pbtxt`, 'utf8')).toBe(readFileSync(join(dir, 'u2netp/config.pbtxt'), 'utf8'))
  })

  it('keeps the configured count for one core', () => {
    prepare(['u2netp'], { cpu: '1' })
    expect(written()).toBe(configs('cpu'))
  })

  it.each(['avx512', 'avx'] as const)('has the configuration for VNNI on a node with %s, and logs it', (processor) => {
    expect(prepare(['u2netp'], { processor })).toBe('model u2netp: configs/cpu-vnni.pbtxt\nstarted\n')
    expect(written()).toBe(configs('cpu-vnni').replace('kind: KIND_CPU count: 1', 'kind: KIND_CPU count: 6'))
    expect(written()).toContain('model.int8.onnx')
  })

  it('prefers the one for OpenVINO if the image has it and the processor has VNNI', () => {
    vi.stubEnv('OPENVINO_PACKAGES', '/opt/openvino')
    expect(prepare(['u2netp'], { processor: 'avx512' })).toBe(
      'model u2netp: configs/cpu-vnni-openvino.pbtxt\nstarted\n',
    )
    const original = configs('cpu-vnni-openvino')
    expect(written()).toBe(original.replace('kind: KIND_CPU count: 1', 'kind: KIND_CPU count: 6'))
    expect(prepare(['u2netp'])).toBe('model u2netp: configs/cpu.pbtxt\nstarted\n')
    rmSync(join(dir, 'u2netp/configs/cpu-vnni-openvino.pbtxt'))
    expect(prepare(['u2netp'], { processor: 'avx512' })).toBe('model u2netp: configs/cpu-vnni.pbtxt\nstarted\n')
    writeFileSync(join(dir, 'u2netp/configs/cpu-vnni-openvino.pbtxt'), original)
  })

  it('prefers the one for AMX if the processor has it', () => {
    vi.stubEnv('OPENVINO_PACKAGES', '/opt/openvino')
    const file = join(dir, 'u2netp/configs/cpu-amx-openvino.pbtxt')
    writeFileSync(file, configs('cpu-vnni-openvino').replace('"matte.form"', '"other.form"'))
    expect(prepare(['u2netp'], { processor: 'amx' })).toBe('model u2netp: configs/cpu-amx-openvino.pbtxt\nstarted\n')
    expect(written()).toContain('"other.form"')
    const other = 'model u2netp: configs/cpu-vnni-openvino.pbtxt\nstarted\n'
    expect(prepare(['u2netp'], { processor: 'avx512' })).toBe(other)
    vi.stubEnv('OPENVINO_PACKAGES', '')
    expect(prepare(['u2netp'], { processor: 'amx' })).toBe('model u2netp: configs/cpu-vnni.pbtxt\nstarted\n')
    rmSync(file)
    vi.stubEnv('OPENVINO_PACKAGES', '/opt/openvino')
    expect(prepare(['u2netp'], { processor: 'amx' })).toBe(other)
  })

  it('keeps the file with the checksum of spec on every node', () => {
    vi.stubEnv('OPENVINO_PACKAGES', '/opt/openvino')
    prepare(['u2netp'], { processor: 'avx512', cpu: '1', checksum: `sha256:${'01'.repeat(32)}` })
    expect(written()).toBe(configs('cpu'))
  })

  it('does not change a model without a configuration for VNNI', () => {
    execFileSync('cp', ['-r', join(dir, 'u2netp'), join(dir, 'plain')])
    rmSync(join(dir, 'plain/configs/cpu-vnni.pbtxt'))
    expect(prepare(['plain'], { processor: 'avx512' })).toBe('model plain: configs/cpu.pbtxt\nstarted\n')
  })

  it('can be created again, as after a restart of the container', () => {
    prepare(['u2netp'], { processor: 'avx512' })
    expect(prepare(['u2netp'])).toBe('model u2netp: configs/cpu.pbtxt\nstarted\n')
    expect(written()).not.toContain('int8')
  })

  it('uses only sed features of BusyBox', () => {
    const bin = join(dir, 'bin')
    mkdirSync(bin, { recursive: true })
    const sed = execFileSync('sh', ['-c', 'command -v sed'], { encoding: 'utf8' }).trim()
    const asBusyBox = `#!/bin/sh\ncase "$1" in -*z*) exit 1 ;; esac\nexec ${sed} --posix "$@"\n`
    writeFileSync(join(bin, 'sed'), asBusyBox, { mode: 0o755 })
    vi.stubEnv('PATH', `${bin}:${process.env.PATH}`)
    prepare(['u2netp'])
    expect(written()).toBe(configs('cpu').replace('kind: KIND_CPU count: 1', 'kind: KIND_CPU count: 6'))
  })

  it('starts Triton although a model is missing, which Triton reports', () => {
    expect(prepare(['u2netp', 'absent'])).toBe('model u2netp: configs/cpu.pbtxt\nstarted\n')
  })
})
