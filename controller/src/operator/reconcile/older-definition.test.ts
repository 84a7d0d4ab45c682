import { expect, it } from 'vitest'
import { withoutUndeclared } from './apply-step.ts'

const status = {
  models: [
    { name: 'a', forms: [{ form: 'int8' }], target: { state: 'Loaded' } },
    { name: 'b', target: { state: 'Loading' } },
  ],
  demand: { backlog: 1, newer: 2 },
}

it('omits undeclared fields, in each item of a list', () => {
  const words =
    'failed to create typed patch object (/demo; matte.dev/v1alpha1, Kind=TritonPool): errors:\n' +
    '  .status.models[name="a"].forms: field not declared in schema\n' +
    '  .status.demand.newer: field not declared in schema'
  expect(withoutUndeclared(status, words)).toEqual({
    models: [
      { name: 'a', target: { state: 'Loaded' } },
      { name: 'b', target: { state: 'Loading' } },
    ],
    demand: { backlog: 1 },
  })
  expect(status.models[0]).toHaveProperty('forms')
})

it('returns undefined for another refusal', () => {
  expect(withoutUndeclared(status, 'the server is overloaded')).toBeUndefined()
})
