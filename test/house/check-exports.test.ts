import { describe, expect, it } from 'vitest'
import { checkEntryPoints, checkExports } from './check-exports.ts'
import { house, workspaces } from './house.fixtures.ts'

function objections(texts: Readonly<Record<string, string>>): string[] {
  const { files, edges } = house(texts)
  return checkExports(files, edges, ['app/src/main.ts']).map(({ rule, where }) => `${rule} ${where}`)
}

const main = (text: string): Record<string, string> => ({ 'app/src/main.ts': text })

describe('an export', () => {
  it('is needed when another file of a process imports it', () => {
    const texts = { ...main("import { a } from '@t/core/a'"), 'core/src/a.ts': 'export const a = 1' }
    expect(objections(texts)).toEqual([])
  })

  it('is unused when nobody imports it', () => {
    const texts = { ...main("import { a } from '@t/core/a'"), 'core/src/a.ts': 'export const a = 1\nexport type B = 2' }
    expect(objections(texts)).toEqual(['unused-export core/src/a.ts#B'])
  })

  it('is unused when only its own file uses it', () => {
    const a = 'export type B = 2\nexport const a = (b: B) => b'
    expect(objections({ ...main("import { a } from '@t/core/a'"), 'core/src/a.ts': a })).toEqual([
      'unused-export core/src/a.ts#B',
    ])
  })

  it('is for tests only when nothing but tests imports it, beside the code or apart', () => {
    const texts = {
      ...main("import { a } from '@t/core/a'"),
      'core/src/a.ts': 'export const a = 1\nexport const b = 2\nexport const c = 3',
      'core/src/a.test.ts': "import { b } from './a.ts'",
      'test/a.test.ts': "import { c } from '@t/core/a'",
    }
    expect(objections(texts)).toEqual(['test-only core/src/a.ts#b', 'test-only core/src/a.ts#c'])
  })

  it('may be there for its test when its own file uses it', () => {
    const texts = {
      ...main("import { a } from '@t/core/a'"),
      'core/src/a.ts': 'export const b = 2\nexport const a = b',
      'core/src/a.test.ts': "import { b } from './a.ts'",
    }
    expect(objections(texts)).toEqual([])
  })

  it('is nobody’s business in a test', () => {
    expect(objections({ 'test/a.ts': 'export const a = 1', 'core/src/a.fixtures.ts': 'export const a = 1' })).toEqual(
      [],
    )
  })
})

describe('a file', () => {
  it('is unused when no file imports it and it is no program', () => {
    expect(objections({ ...main(''), 'core/src/a.ts': 'export const a = 1' })).toEqual(['unused-file core/src/a.ts'])
  })
})

describe('a name in the `exports` of a package', () => {
  const named = (exports: Record<string, string>) => workspaces.map((one) => ({ ...one, exports }))
  const texts = { 'app/src/main.ts': "import { a } from '@t/core/a'", 'core/src/b.ts': "import { a } from './a.ts'" }

  it('is unused when no other package imports the file', () => {
    const exports = { './a': 'src/a.ts', './b': 'src/b.ts' }
    const [core] = named(exports)
    const { edges } = house(texts)
    expect(checkEntryPoints(edges, core ? [core] : []).map(({ where }) => where)).toEqual(['core/package.json#./b'])
  })

  it('may be the pattern of all files', () => {
    expect(checkEntryPoints([], named({ './*': 'src/*.ts' }))).toEqual([])
  })
})
