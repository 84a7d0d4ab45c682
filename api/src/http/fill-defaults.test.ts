import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { nullable, withDefault } from '../schemas/schema.ts'
import { compileValidator } from './validation.ts'

const output = Type.Object({ format: withDefault(nullable(Type.String()), 'png'), size: Type.Optional(Type.Integer()) })
const schema = Type.Object({
  events: withDefault(nullable(Type.Array(Type.String())), ['a']),
  page: withDefault(Type.Integer(), 1),
  output: Type.Optional(nullable(output)),
})

const read = (httpPart: string, value: unknown): unknown => {
  const verdict = compileValidator({ schema, httpPart, method: 'POST', url: '/' })(value)
  return typeof verdict === 'object' && 'value' in verdict ? verdict.value : verdict
}

describe.each(['body', 'querystring'])('the defaults of a %s', (httpPart) => {
  it('replace absent and null fields', () => {
    expect(read(httpPart, {})).toEqual({ events: ['a'], page: 1 })
    expect(read(httpPart, { events: null, output: { format: null } })).toEqual({
      events: ['a'],
      page: 1,
      output: { format: 'png' },
    })
  })

  it('do not replace given values', () => {
    const given = { events: [], page: 0, output: { format: 'webp', size: 3 } }
    expect(read(httpPart, given)).toEqual(given)
  })

  it('are not shared between requests', () => {
    const { events } = read(httpPart, {}) as { events: string[] }
    events.push('b')
    expect(read(httpPart, {})).toMatchObject({ events: ['a'] })
  })
})

it('an optional field with a default is not required', () => {
  expect(schema.required).toBeUndefined()
})
