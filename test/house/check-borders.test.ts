import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkBorders, checkPackages } from './check-borders.ts'
import { house, importing, workspaces } from './house.fixtures.ts'
import * as layers from './layers.ts'

const table = {
  roots: { core: 'core/src', app: 'app/src' },
  rooms: {
    'core/noun': ['core/db'],
    'core/db': [],
    app: ['app', 'core'],
    'app/config.ts': [],
    'app/routes': ['core/noun', 'app/views'],
    'app/views': [],
  },
  edgeLibraries: { pg: ['core/db'] },
}

const objections = (from: string, ...specifiers: readonly string[]): string[] =>
  checkBorders(house({ [from]: importing(...specifiers) }).edges, table).map(({ where }) => where)

describe('the borders of rooms', () => {
  it('let through what the table says, and what lies in the same room', () => {
    expect(objections('app/src/routes/open/a.ts', '../b.ts', '../../views/v.ts', '@t/core/noun/n')).toEqual([])
    expect(objections('app/src/main.ts', './config.ts', './routes/b.ts', '@t/core/db/d')).toEqual([])
    expect(objections('core/src/db/d.ts', 'pg', 'node:fs', 'another')).toEqual([])
  })

  it.each([
    ['an arrow upwards', 'app/src/views/v.ts', '../routes/b.ts', 'app/src/routes/b.ts'],
    ['an arrow to the file above all', 'app/src/views/v.ts', '../main.ts', 'app/src/main.ts'],
    ['an arrow to a room that is not named', 'app/src/routes/b.ts', '@t/core/db/d', 'core/src/db/d.ts'],
    ['another package', 'core/src/noun/n.ts', '@t/app/views/v', 'app/src/views/v.ts'],
    ['what a room keeps in a folder of its own', 'app/src/main.ts', './views/inner/v.ts', 'app/src/views/inner/v.ts'],
    ['a library that another room is the edge to', 'core/src/noun/n.ts', 'pg', 'pg'],
    ['code of tests', 'app/src/main.ts', './views/v.fixtures.ts', 'app/src/views/v.fixtures.ts'],
  ])('stop %s', (_what, from, specifier, to) => {
    expect(objections(from, specifier)).toEqual([`${from} -> ${to}`])
  })

  it('are open to tests', () => {
    expect(objections('app/src/views/v.test.ts', '../main.ts', 'pg')).toEqual([])
    expect(objections('test/a.test.ts', '@t/core/db/inner/d')).toEqual([])
  })
})

describe('the borders of packages', () => {
  it('stop a relative path into another package, from tests too', () => {
    const texts = { 'test/a.test.ts': importing('../core/src/db/d.ts', '@t/core/db/d', './b.ts') }
    expect(checkPackages(house(texts).edges, workspaces).map(({ where }) => where)).toEqual([
      'test/a.test.ts -> core/src/db/d.ts',
    ])
  })
})

describe('the table of rooms', () => {
  const pathOf = (name: string): string => {
    const [root = '', ...rest] = name.split('/')
    return join(import.meta.dirname, '../..', layers.roots[root] ?? 'no such root', ...rest)
  }
  const lists = [...Object.values(layers.rooms), ...Object.values(layers.edgeLibraries)]

  it('names only what is there', () => {
    const names = new Set([...Object.keys(layers.rooms), ...lists.flat()])
    expect([...names].filter((name) => !existsSync(pathOf(name)))).toEqual([])
    const paths = [...layers.programs, ...layers.tables]
    expect(paths.filter((path) => !existsSync(join(import.meta.dirname, '../..', path)))).toEqual([])
  })
})
