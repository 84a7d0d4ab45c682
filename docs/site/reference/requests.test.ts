import { describe, expect, it } from 'vitest'
import type { ListedOperation } from './operations.ts'
import { requestExamples } from './requests.ts'
import { rowsOf } from './schema-rows.ts'

const operation: ListedOperation = {
  operationId: 'createThing',
  summary: 'Create a thing',
  tags: ['Things'],
  method: 'post',
  path: '/api/v1/open/developer/things/{thingId}',
  tag: 'Things',
  url: '/docs/api/things#createThing',
  codes: [],
  parameters: [{ name: 'thingId', in: 'path', required: true, schema: { type: 'string', examples: ['t-1'] } }],
  requestBody: {
    required: true,
    content: { 'application/json': { example: { name: "a 'quoted' name", 'X-Y': [true, null] } } },
  },
  responses: {},
  security: [{ apiKey: [] }],
  'x-required-scope': 'things:write',
}
const codeOf = (title: string, changed: Partial<ListedOperation> = {}): string | undefined =>
  requestExamples({ ...operation, ...changed }, {}).find((example) => example.title === title)?.code

describe('requestExamples', () => {
  it('writes curl for bash', () => {
    expect(codeOf('curl')).toBe(
      [
        'curl "$MATTE_BASE_URL/open/developer/things/t-1"',
        '-H "X-API-Key: $MATTE_API_KEY"',
        "-H 'Content-Type: application/json'",
        `-d '{"name":"a '\\''quoted'\\'' name","X-Y":[true,null]}'`,
      ].join(' \\\n  '),
    )
  })

  it('writes TypeScript and Python for operations with an API key', () => {
    expect(codeOf('TypeScript')).toContain("    'X-Y': [\n      true,\n      null,\n    ],\n  },\n})")
    expect(codeOf('TypeScript')).toContain(
      `matte.request('POST', '/open/developer/things/t-1', {\n  body: {\n    name: "a 'quoted' name",`,
    )
    expect(codeOf('Python')).toContain(`body={"name": "a 'quoted' name", "X-Y": [True, None]})`)
  })

  it('writes only curl for members and deprecated paths', () => {
    const { 'x-required-scope': _scope, ...open } = operation
    const members = requestExamples({ ...open, security: [{ accessToken: [] }] }, {})
    expect(members.map(({ title }) => title)).toEqual(['curl'])
    expect(members[0]?.code).toContain('Authorization: Bearer $ACCESS_TOKEN')
    expect(codeOf('TypeScript', { path: '/v1/tasks' })).toBeUndefined()
  })
})

describe('rowsOf', () => {
  it('names nested fields by their path, and ends in schemas that contain themselves', () => {
    const schemas = { Tree: { type: 'object', properties: { next: { $ref: '#/components/schemas/Tree' } } } }
    const names = rowsOf(
      {
        type: 'object',
        required: ['a'],
        properties: {
          a: { type: ['integer', 'null'], minimum: 1, maximum: 9 },
          list: { type: 'array', items: { type: 'object', properties: { b: { type: 'string', format: 'uuid' } } } },
          tree: { $ref: '#/components/schemas/Tree' },
        },
      },
      schemas,
    ).map(({ name, type, required }) => [name, type, required])
    expect(names.slice(0, 3)).toEqual([
      ['a', 'integer or null', true],
      ['list', 'array of object', false],
      ['list[].b', 'string (uuid)', false],
    ])
    expect(names.length).toBeLessThan(12)
  })
})
