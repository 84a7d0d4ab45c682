import { describe, expect, it } from 'vitest'
import { findOwnAccount, parseServiceAccounts } from './operator-config.ts'

describe('service accounts of pools', () => {
  it.each([
    ['models-reader', ['models-reader']],
    [' models-reader, other.reader ,models-reader', ['models-reader', 'other.reader']],
  ])('are read from %j', (value, names) => {
    expect(parseServiceAccounts(value)).toEqual(names)
  })

  it.each(['a,', 'Models', '*', 'team/reader', 'a'.repeat(254)])('are not read from %j', (value) => {
    expect(() => parseServiceAccounts(value)).toThrow('is not a name of a service account')
  })

  it.each(['api', 'delete-pools', 'dispatcher', 'operator', 'setup', 'test', 'worker'])(
    'are not the account of %s of the release',
    (component) => {
      expect(findOwnAccount(['models-reader', `ours-${component}`], 'ours')).toBe(`ours-${component}`)
    },
  )

  it('can have any other name', () => {
    expect(findOwnAccount(['ours-reader', 'theirs-api', 'api', 'ours-api-reader'], 'ours')).toBeUndefined()
    expect(findOwnAccount(['ours-api'], undefined)).toBeUndefined()
  })
})
