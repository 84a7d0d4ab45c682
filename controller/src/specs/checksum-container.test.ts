import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type PoolSpecInput, type TritonPool, withDefaults } from '../pool/triton-pool.ts'
import { buildChecksumContainers } from './checksum-container.ts'
import { buildPodTemplate } from './pod-template.ts'

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

/** What the container says at its end, and how it ends. The kubelet's file and the pod's /tmp are files of the test's own. */
function compare(names: readonly string[]): { code: number | null; words: string } {
  const models = names.map((name) => modelOf(name, { imagePath: dir }))
  const [container] = buildChecksumContainers(withDefaults({ models }))
  const [program = '', flag = '', script = '', zero = '', _wait = '', ...rest] = (container?.command ?? []) as string[]
  const own = script
    .replaceAll('/tmp/checksums-differ', `${dir}/differ`)
    .replaceAll('/dev/termination-log', `${dir}/words`)
  const { status } = spawnSync(program, [flag, own, zero, '0', ...rest])
  return { code: status, words: readFileSync(`${dir}/words`, 'utf8') }
}

describe('the comparison of models with their checksums', () => {
  it('lets Triton start with the right files', () => {
    write('a/1/model.onnx', 'right')
    write('b/1/model.plan', 'right')
    expect(compare(['a', 'b'])).toEqual({ code: 0, words: '' })
  })

  it('tells which model has which file, and goes on once the file is right', () => {
    write('a/1/model.onnx', 'right')
    write('b/1/model.onnx', 'wrong')
    const words = `b: ${dir}/b/1/model.onnx has ${sha256('wrong')}, and the spec asks for ${right}\n`
    expect(compare(['a', 'b'])).toEqual({ code: 1, words })
    expect(compare(['a', 'b'])).toEqual({ code: 1, words })
    write('b/1/model.onnx', 'right')
    expect(compare(['a', 'b'])).toEqual({ code: 0, words: '' })
  })

  it('looks at the highest version, by number', () => {
    write('a/9/model.onnx', 'right')
    write('a/10/model.onnx', 'wrong')
    expect(compare(['a']).code).toBe(1)
    write('a/10/model.onnx', 'right')
    write('a/9/model.onnx', 'wrong')
    expect(compare(['a']).code).toBe(0)
  })

  it('takes one of several files of a model, such as its graph beside its weights', () => {
    write('a/1/model.onnx', 'right')
    write('a/1/model.onnx.data', 'weights')
    expect(compare(['a']).code).toBe(0)
  })

  it('refuses a version without a file to look at', () => {
    write('a/1/model.savedmodel/saved_model.pb', 'right')
    const words = `a: there is no file ${dir}/a/1/model.*, and the spec asks for ${right}\n`
    expect(compare(['a'])).toEqual({ code: 1, words })
  })

  it('leaves a model that is not there to Triton, which says so', () => {
    expect(compare(['absent'])).toEqual({ code: 0, words: '' })
  })
})

describe('the container that compares', () => {
  const poolOf = (spec: Partial<PoolSpecInput>): TritonPool => ({
    apiVersion: 'matte.dev/v1alpha1',
    kind: 'TritonPool',
    metadata: { name: 'p', uid: 'uid' },
    spec: withDefaults({ models: [modelOf('a', { imagePath: '/models' })], ...spec }),
  })
  const initContainers = (spec: Partial<PoolSpecInput>) =>
    (buildPodTemplate(poolOf(spec)).spec.initContainers ?? []) as { name: string; command?: string[] }[]

  it('is there for models with a checksum whose files are there before Triton is', () => {
    const claim = { persistentVolumeClaim: { claimName: 'models', path: 'v3' } }
    const [container] = initContainers({ models: [modelOf('a', { imagePath: '/models' }), modelOf('b', claim)] })
    expect(container?.command?.slice(5)).toEqual(['/models/a', 'a', right, '/mnt/models-0/v3/b', 'b', right])
    expect(initContainers({ models: [modelOf('a', { imagePath: '/models' }, '')] })).toEqual([])
    expect(initContainers({ models: [modelOf('a', { s3: { prefix: 's3://models/all' } })] })).toEqual([])
  })

  it('comes after those of a patch, which may fetch the models, and cannot be patched away', () => {
    const fetching = { name: 'fetch', image: 'fetcher' }
    const [first, second, ...others] = initContainers({
      podPatch: { spec: { initContainers: [{ name: 'checksums', command: ['true'] }, fetching] } },
    })
    expect([first?.name, second?.name, others.length]).toEqual(['fetch', 'checksums', 0])
    expect(second?.command).toContain(right)
  })
})
