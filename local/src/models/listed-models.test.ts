import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { buildEnvironments } from '../environment.ts'
import { readPorts } from '../ports.ts'
import { readListedModels } from './model-repository.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'matte-listed-'))
  const added = { folder: 'isnet', default: false, licence: 'MIT', file: '1/model.onnx', sha256: 'ab' }
  const listed = {
    'service-v2': { ...added, folder: 'u2netp', default: true },
    fine: added,
    gone: { ...added, folder: 'g' },
  }
  writeFileSync(join(folder, 'models.json'), JSON.stringify(listed))
  for (const name of ['u2netp', 'isnet']) mkdirSync(join(folder, name))
})
afterEach(() => rmSync(folder, { recursive: true }))

const modelsOf = (given: Record<string, string>, tritonAddress?: string) => {
  const rolePasswords = { api: 'e', worker: 'f', operator: 'g', dispatcher: 'h' }
  const secrets = { databasePassword: 'a', masterKey: 'b', s3AccessKeyId: 'c', s3SecretAccessKey: 'd', rolePasswords }
  const existing = tritonAddress === undefined ? {} : { tritonAddress }
  const options = { ports: readPorts({}), secrets, existing, models: readListedModels(folder), given }
  return JSON.parse(buildEnvironments(options).processes.worker.MODELS_STATIC ?? '')
}

it('lists the models of models.json whose folders exist, all in one Triton', () => {
  const addresses = [`127.0.0.1:${readPorts({}).tritonGrpc}`]
  expect(modelsOf({})).toEqual([
    { name: 'service-v2', tritonModel: 'u2netp', addresses, default: true },
    { name: 'fine', tritonModel: 'isnet', addresses, default: false },
  ])
  expect(modelsOf({}, 'gpu:9001')).toMatchObject([{ addresses: ['gpu:9001'] }, { addresses: ['gpu:9001'] }])
})

it('does not replace the caller’s own list', () => {
  const own = [{ name: 'mine', tritonModel: 'mine', addresses: ['host:1'], default: true }]
  expect(modelsOf({ MODELS_STATIC: JSON.stringify(own) })).toEqual(own)
})
