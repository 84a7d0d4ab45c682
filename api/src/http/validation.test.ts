import { type TSchema, Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { toIssues } from '../errors/issues.ts'
import { compileValidator } from './validation.ts'

const schema = Type.Object({
  names: Type.Array(Type.String()),
  count: Type.Optional(Type.Integer()),
  output: Type.Optional(Type.Object({ size: Type.Optional(Type.Integer()) }, { additionalProperties: false })),
})

function issuesOf(body: unknown, judged: TSchema = schema) {
  const verdict = compileValidator({ schema: judged, httpPart: 'body', method: 'POST', url: '/' })(body)
  if (verdict === true || typeof verdict !== 'object' || !('error' in verdict)) return []
  return Array.isArray(verdict.error) ? toIssues(verdict.error, 'body') : []
}

describe('a body with many errors', () => {
  it('is rejected with the first twenty', () => {
    const issues = issuesOf({ names: Array.from({ length: 300 }, () => 1) })
    expect(issues).toHaveLength(20)
    expect(issues.at(-1)).toEqual({ path: '/body/names/19', message: 'must be string' })
  })

  it('is not read to its end', () => {
    let reads = 0
    const list = new Proxy(
      Array.from({ length: 500_000 }, () => 1),
      {
        get: (items, name) => {
          reads += 1
          return Reflect.get(items, name)
        },
      },
    )
    expect(issuesOf({ names: list })).toHaveLength(20)
    expect(reads).toBeLessThan(5_000)
  })

  it('names only the list if its first thousand items are valid', () => {
    const list: unknown[] = Array.from({ length: 1_000 }, () => 'a')
    expect(issuesOf({ names: [...list, 'b'] })).toEqual([])
    expect(issuesOf({ names: [...list, 1] })).toEqual([
      { path: '/body/names', message: 'is invalid after its first 1000 items' },
    ])
  })

  it('names another invalid field beside a long list', () => {
    const names = Array.from({ length: 2_000 }, () => 'a')
    expect(issuesOf({ names, count: 'x' })).toEqual([{ path: '/body/count', message: 'must be integer' }])
  })

  it('names twenty of an object’s unknown members', () => {
    const output = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`x${index}`, 1]))
    expect(issuesOf({ names: [], output })).toHaveLength(20)
  })
})
