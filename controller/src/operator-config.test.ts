import { describe, expect, it } from 'vitest'
import { readOperatorConfig } from './operator-config.ts'

const env = { DATABASE_URL: 'postgresql://matte@database/matte', NATS_URL: 'nats://nats:4222', POOL_RELEASE: 'ours' }

describe('POD_SERVICE_ACCOUNTS', () => {
  it('rejects accounts of the release and invalid names', () => {
    const read = (names: string) => readOperatorConfig({ ...env, POD_SERVICE_ACCOUNTS: names }).podServiceAccounts
    expect(read('models-reader, other')).toEqual(['models-reader', 'other'])
    expect(() => read('models-reader,ours-api')).toThrow('POD_SERVICE_ACCOUNTS has ours-api')
    expect(() => read('Models')).toThrow('"Models" is not a name of a service account')
  })
})

describe('POD_PRIORITY_CLASSES', () => {
  it('rejects invalid names', () => {
    const read = (names: string) => readOperatorConfig({ ...env, POD_PRIORITY_CLASSES: names }).podPriorityClasses
    expect(read('serving, batch')).toEqual(['serving', 'batch'])
    expect(() => read('serving;batch')).toThrow('"serving;batch" is not a name of a PriorityClass')
  })
})
