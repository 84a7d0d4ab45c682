import { describe, expect, it } from 'vitest'
import { checkSizes } from './check-sizes.ts'
import { house } from './house.fixtures.ts'

function objections(texts: Readonly<Record<string, string>>, tables: readonly string[] = []): string[] {
  return checkSizes(house(texts).files, tables).map(({ rule, where, size }) => `${rule} ${where} ${size}`)
}

const lines = (count: number): string => '1\n'.repeat(count)
const names = (count: number): string => Array.from({ length: count }, (_, n) => `export const a${n} = 1\n`).join('')

describe('the marks', () => {
  it('leave alone what reaches them', () => {
    const body = `${lines(58)}`
    expect(objections({ 'app/src/a.ts': lines(300) })).toEqual([])
    expect(objections({ 'app/src/a.ts': `function a(b, c, d) {\n${body}}\n${names(5)}` })).toEqual([])
    expect(objections({ 'app/src/a.ts': `// ${'é'.repeat(117)}\n` })).toEqual([])
  })

  it.each([
    ['a file of 301 lines', lines(301), 'file-lines app/src/a.ts 301'],
    ['a function of 61 lines', `function a() {\n${lines(59)}}`, 'function-lines app/src/a.ts#a 61'],
    ['a closure of 61 lines', `const a = () => {\n${lines(59)}}`, 'function-lines app/src/a.ts#a 61'],
    ['four parameters', 'function a(b, c, d, e) {}', 'parameters app/src/a.ts#a 4'],
    ['six exported names', names(6), 'exports app/src/a.ts 6'],
    ['a comment of 121 columns', `// ${'a'.repeat(118)}\n`, 'columns app/src/a.ts 1'],
  ])('object to %s', (_what, text, objection) => {
    expect(objections({ 'app/src/a.ts': text })).toEqual([objection])
  })

  it('object to a folder of thirteen source files, whose tests do not count', () => {
    const files = Array.from({ length: 13 }, (_, n) => `app/src/f/a${n}.ts`)
    const texts = Object.fromEntries(['app/src/f/a1.test.ts', ...files].map((path) => [path, '']))
    expect(objections(texts)).toEqual(['folder-files app/src/f 13'])
    expect(objections({ ...texts, 'app/src/f/a12.ts': '', 'app/src/f/b.ts': '' })).toEqual([
      'folder-files app/src/f 14',
    ])
  })

  it('let tables and schemas be as long as what they describe', () => {
    const texts = { 'app/src/tables/a.ts': `${names(6)}${lines(300)}` }
    expect(objections(texts, ['app/src/tables'])).toEqual([])
    expect(objections(texts, ['app/src/table'])).not.toEqual([])
  })

  it('tell two functions of one name apart', () => {
    const text = 'call((() => { function a(b, c, d, e) {} })(), (() => { function a(b, c, d, e) {} })())'
    expect(new Set(objections({ 'app/src/a.ts': text })).size).toBe(2)
  })
})
