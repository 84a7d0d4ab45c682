import { describe, expect, it } from 'vitest'
import { KubeError } from '../kube/client.ts'
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
})
