import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type PoolSpecInput, type TritonPool, withDefaults } from '../pool/triton-pool.ts'
import { buildChecksumContainers, buildPodTemplate } from './pod-template.ts'

const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`
const right = sha256('right')

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'matte-checksums-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function write(path: string, text: string): void {
  mkdirSync(join(dir, path, '..'), { recursive: true })
  writeFileSync(join(dir, path), text)
}

const modelOf = (name: string, source: object, checksum: string | undefined = right) =>
  ({ name, modelVersion: name, ...(checksum && { checksum }), source }) as PoolSpecInput['models'][number]

/** Runs the container's script with temporary files; returns its exit code and termination message. */
function compare(names: readonly string[]): { code: number | null; words: string } {
  const models = names.map((name) => modelOf(name, { imagePath: dir }))
  const [container] = buildChecksumContainers(withDefaults({ models }))
  const [program = '', flag = '', script = '', zero = '', _wait = '', config = '', ...rest] = (container?.command ??
    []) as string[]
  const own = script
    .replaceAll('/tmp/checksums-differ', `${dir}/differ`)
    .replaceAll('/dev/termination-log', `${dir}/words`)
  const { status } = spawnSync(program, [flag, own, zero, '0', config, ...rest])
  return { code: status, words: readFileSync(`${dir}/words`, 'utf8') }
}

describe('the script of the checksum container', () => {
  it('succeeds with the right files', () => {
    write('a/1/model.onnx', 'right')
    write('b/1/model.plan', 'right')
    expect(compare(['a', 'b'])).toEqual({ code: 0, words: '' })
  })

  it('reports each wrong file, and succeeds once it is right', () => {
    write('a/1/model.onnx', 'right')
    write('b/1/model.onnx', 'wrong')
    const words = `b: ${dir}/b/1/model.onnx has ${sha256('wrong')}, and the spec asks for ${right}\n`
    expect(compare(['a', 'b'])).toEqual({ code: 1, words })
    expect(compare(['a', 'b'])).toEqual({ code: 1, words })
    write('b/1/model.onnx', 'right')
    expect(compare(['a', 'b'])).toEqual({ code: 0, words: '' })
  })

  it('compares the numerically highest version', () => {
    write('a/9/model.onnx', 'right')
    write('a/10/model.onnx', 'wrong')
    expect(compare(['a']).code).toBe(1)
    write('a/10/model.onnx', 'right')
    write('a/9/model.onnx', 'wrong')
    expect(compare(['a']).code).toBe(0)
  })

  it('compares only the file that Triton loads', () => {
    write('a/1/model.onnx', 'wrong')
    for (const other of ['model.onnx.bak', 'model.onnx.data', 'model.old.onnx', 'model.pt', 'model.txt']) {
      write(`a/1/${other}`, 'right')
      expect(compare(['a']).code).toBe(1)
    }
    write('a/1/model.onnx', 'right')
    write('a/1/model.onnx.data', 'weights')
    expect(compare(['a']).code).toBe(0)
  })

  it.each([
    ['backend: "onnxruntime"', 'model.onnx'],
    ['platform: "tensorrt_plan"', 'model.plan'],
    ["name: 'a' backend : 'pytorch'", 'model.pt'],
    ['backend: "openvino"', 'model.xml'],
    ['backend: "python"', 'model.py'],
    ['backend: "onnxruntime"\n\tdefault_model_filename: "net.onnx" # not "model.onnx"', 'net.onnx'],
    ['# default_model_filename: "net.onnx"\nbackend: "onnxruntime"', 'model.onnx'],
  ])('reads the file name from the configuration: %s', (config, file) => {
    write('a/config.pbtxt', config)
    for (const name of ['model.onnx', 'model.plan', 'model.pt', 'model.xml', 'model.py', 'net.onnx']) {
      write(`a/1/${name}`, name === file ? 'right' : 'wrong')
    }
    expect(compare(['a'])).toEqual({ code: 0, words: '' })
    write(`a/1/${file}`, 'wrong')
    expect(compare(['a']).words).toContain(`${dir}/a/1/${file} has ${sha256('wrong')}`)
  })

  it('reads the configuration that Triton reads: the one for the CPU if it exists', () => {
    write('a/config.pbtxt', 'default_model_filename: "other.onnx"')
    write('a/configs/cpu.pbtxt', 'default_model_filename: "net.onnx"')
    write('a/1/net.onnx', 'right')
    write('a/1/other.onnx', 'wrong')
    expect(compare(['a']).code).toBe(0)
  })

  it('fails for a version without the file', () => {
    write('a/1/model.savedmodel/saved_model.pb', 'right')
    expect(compare(['a']).code).toBe(1)
    write('a/config.pbtxt', 'platform: "onnxruntime_onnx"')
    const words = `a: ${dir}/a/1 has no file model.onnx, and the spec asks for ${right}\n`
    expect(compare(['a'])).toEqual({ code: 1, words })
  })

  it('ignores a missing model, which Triton reports', () => {
    expect(compare(['absent'])).toEqual({ code: 0, words: '' })
  })
})

describe('the checksum container', () => {
  const poolOf = (spec: Partial<PoolSpecInput>): TritonPool => ({
    apiVersion: 'matte.dev/v1alpha1',
    kind: 'TritonPool',
    metadata: { name: 'p', uid: 'uid' },
    spec: withDefaults({ models: [modelOf('a', { imagePath: '/models' })], ...spec }),
  })
  const initContainers = (spec: Partial<PoolSpecInput>) =>
    (buildPodTemplate(poolOf(spec)).spec.initContainers ?? []) as { name: string; command?: string[] }[]

  it('exists for models with a checksum whose files exist before Triton starts', () => {
    const claim = { persistentVolumeClaim: { claimName: 'models', path: 'v3' } }
    const [container] = initContainers({ models: [modelOf('a', { imagePath: '/models' }), modelOf('b', claim)] })
    expect(container?.command?.slice(5)).toEqual(['cpu', '/models/a', 'a', right, '/mnt/models-0/v3/b', 'b', right])
    expect(initContainers({ models: [modelOf('a', { imagePath: '/models' }, '')] })).toEqual([])
    expect(initContainers({ models: [modelOf('a', { s3: { prefix: 's3://models/all' } })] })).toEqual([])
  })

  it('runs after a patch’s init containers, which may fetch the models, and cannot be patched away', () => {
    const fetching = { name: 'fetch', image: 'fetcher' }
    const [first, second, ...others] = initContainers({
      podPatch: { spec: { initContainers: [{ name: 'checksums', command: ['true'] }, fetching] } },
    })
    expect([first?.name, second?.name, others.length]).toEqual(['fetch', 'checksums', 0])
    expect(second?.command).toContain(right)
  })
})
