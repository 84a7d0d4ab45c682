import { describe, expect, it } from 'vitest'
import { house } from './house.fixtures.ts'

const read = (text: string) => {
  const file = house({ 'app/src/a.ts': text }).files[0]
  if (file === undefined) throw new Error('no file')
  return file
}

describe('what a file imports', () => {
  it.each([
    ["import a, { type B, c as d } from './b.ts'", ['default', 'B', 'c']],
    ["import type { B } from './b.ts'", ['B']],
    ["import * as b from './b.ts'", 'all'],
    ["import './b.ts'", []],
    ["export { b as c } from './b.ts'", ['b']],
    ["export * from './b.ts'", 'all'],
    ["const b = await import('./b.ts')", 'all'],
    ["type B = import('./b.ts').B", 'all'],
    ["const worker = new URL('./b.ts', import.meta.url)", 'all'],
    ["const worker = import.meta.resolve('./b.ts')", 'all'],
  ])('%s', (text, names) => {
    expect(read(text).imports).toEqual([{ specifier: './b.ts', names }])
  })

  it('is none that stands in a text or a comment', () => {
    expect(read(`const text = "import { a } from './b.ts'" // import './b.ts'`).imports).toEqual([])
  })
})

describe('what a file exports', () => {
  it.each([
    ['export const a = 1, b = 2', ['a', 'b']],
    ['export const { a, b: { c } } = x', ['a', 'c']],
    ['export function a() {}', ['a']],
    ['export async function a() {}', ['a']],
    ['export class A {}', ['A']],
    ['export type A = string', ['A']],
    ['export interface A { b: string }', ['A']],
    ['const a = 1\nexport { a as b }', ['b']],
    ['export default {}', ['default']],
    ['export default function a() {}', ['default']],
    ['const a = 1', []],
  ])('%s', (text, names) => {
    expect(read(text).exports).toEqual(names)
  })
})

describe('the functions of a file', () => {
  it('are measured from their first line to their last, without what is written above', () => {
    const text = '/**\n * A comment.\n */\nfunction a(b, c) {\n  return b\n}\n'
    expect(read(text).functions).toEqual([{ name: 'a', lines: 3, parameters: 2 }])
  })

  it('are named with those around them', () => {
    const text = 'class A { b() { const c = () => 1; return [1].map((x) => x) } }'
    expect(read(text).functions.map(({ name }) => name)).toEqual(['A > b', 'A > b > c', 'A > b > [1].map()'])
  })

  it('are callbacks whose parameters nobody here has chosen', () => {
    expect(read('replace((a, b, c, d) => a)').functions).toEqual([{ name: 'replace()', lines: 1, parameters: 0 }])
  })

  it('are no lists of tests', () => {
    const names = read("describe('a', () => {\n  it('b', () => {})\n})").functions.map(({ name }) => name)
    expect(names).toEqual(["describe('a') > it('b')"])
  })
})
