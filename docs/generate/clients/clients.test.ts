import { describe, expect, it } from 'vitest'
import { buildDeveloperDocument } from './developer-document.ts'
import { writePythonModels } from './python.ts'
import { writeTypeScriptTypes } from './typescript.ts'

describe('the document of the clients', () => {
  it('has the operations of the Developer API, without errors', async () => {
    const { paths } = await buildDeveloperDocument()
    expect(Object.keys(paths)).toContain('/open/developer/tasks')
    expect(Object.keys(paths).filter((path) => !path.startsWith('/open/developer/'))).toEqual([])
    const statuses = Object.values(paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ responses }) => Object.keys(responses)),
    )
    expect([...new Set(statuses)].sort()).toEqual(['200', '201', '202'])
  })

  it('has each schema that it refers to, and none of the App API', async () => {
    const document = await buildDeveloperDocument()
    const { schemas } = document.components
    const names = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name = '']) => name,
    )
    expect(names.filter((name) => schemas[name] === undefined)).toEqual([])
    expect(Object.keys(schemas)).toEqual(expect.arrayContaining(['Task', 'ErrorCode', 'TaskSucceededEvent']))
    expect(Object.keys(schemas)).not.toContain('SignedIn')
  })
})

const lines = (await writePythonModels()).split('\n')
const classes = lines.flatMap(
  (line) =>
    line
      .match(/^class (\w+)\((\w+)/)
      ?.slice(1, 3)
      .join('(') ?? [],
)

describe('the models of the Python client', () => {
  it('are classes, each defined once and after the class that it extends', () => {
    const names = classes.map((text) => text.split('(')[0] ?? '')
    expect(new Set(names).size).toBe(names.length)
    for (const [index, text] of classes.entries()) {
      const base = text.split('(')[1] ?? ''
      if (base !== 'TypedDict') expect([text, names.slice(0, index)]).toEqual([text, expect.arrayContaining([base])])
    }
    expect(classes).toEqual(expect.arrayContaining(['Batch(BatchSummary', 'TaskPage(Page', 'Task(_TaskOptional']))
  })

  it('leave out envelopes, and keep optional and nullable fields apart', () => {
    expect(classes.filter((text) => /^\w+Response\(/.test(text))).toEqual([])
    expect(lines).toContain('    completedAt: str | None')
    const optional = lines.slice(lines.indexOf('class _TaskOptional(TypedDict, total=False):'))
    expect(optional[1]).toBe('    creditCost: int')
  })
})

it('the types of the TypeScript client keep a field with a default optional', async () => {
  const types = await writeTypeScriptTypes()
  expect(types).toMatch(/modelVersion\?: string \| null/)
  expect(types).toContain("export type Task = components['schemas']['Task']")
})
