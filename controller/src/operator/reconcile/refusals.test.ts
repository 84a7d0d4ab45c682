import { describe, expect, it } from 'vitest'
import { KubeError } from '../kube/client.ts'
import { poolOf } from './plan.fixtures.ts'
import { newMemory, type RefusedChange, refusedChangesOf } from './pool-memory.ts'
import { isRefusal } from './refusals.ts'

describe('isRefusal', () => {
  it.each([
    [403, 'exceeded quota', true],
    [422, 'field is immutable', true],
    [500, 'Internal error occurred: failed calling webhook "policy.example.com": connection refused', true],
    [500, 'etcdserver: request timed out', false],
    [409, 'the object has been modified', false],
    [503, 'the server is currently unable to handle the request', false],
  ])('of %d %s: %s', (status, message, refused) => {
    expect(isRefusal(new KubeError(status, 'Some', message))).toBe(refused)
  })

  it.each([
    [0, 'Timeout', true],
    [504, 'Timeout', true],
    [0, 'Unreachable', false],
    [0, 'Aborted', false],
    [429, 'Timeout', false],
  ])('of status %d without a response (%s): %s', (status, reason, refused) => {
    expect(isRefusal(new KubeError(status, reason, 'no answer'))).toBe(refused)
  })
})

it('reports an object once if both its token and its restore are refused', () => {
  const memory = newMemory(poolOf())
  const error = new KubeError(403, 'Forbidden', 'denied')
  const token = (object: string) => ({ pool: 'p', object, revision: undefined, error, closesPool: false })
  memory.refusedTokens = [token('Service p-1'), token('Deployment p-1')]
  memory.refusedChanges.set('restore Service p-1', { what: 'update Service p-1' } as RefusedChange)
  expect(refusedChangesOf(memory).map(({ what }) => what)).toEqual(['update Service p-1', 'update Deployment p-1'])
})
