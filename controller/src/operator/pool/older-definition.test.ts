import { expect, it } from 'vitest'
import { withoutUndeclared } from './older-definition.ts'

const status = {
  models: [
    { name: 'a', forms: [{ form: 'int8' }], target: { state: 'Loaded' } },
    { name: 'b', target: { state: 'Loading' } },
  ],
  demand: { backlog: 1, newer: 2 },
}

it('leaves out what the definition does not declare, in each item of a list', () => {
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

it('has nothing to say of another refusal', () => {
  expect(withoutUndeclared(status, 'the server is overloaded')).toBeUndefined()
})
