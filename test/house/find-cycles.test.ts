import { describe, expect, it } from 'vitest'
import { findCycles } from './find-cycles.ts'
import { house, importing } from './house.fixtures.ts'

const cyclesOf = (texts: Readonly<Record<string, string>>): string[] =>
  findCycles(house(texts).edges).map(({ where }) => where)

describe('cycles', () => {
  it('are files that import each other, over packages and by types', () => {
    const texts = {
      'app/src/a.ts': importing('./b.ts'),
      'app/src/b.ts': "import type { c } from '@t/core/c'",
      'core/src/c.ts': "type A = import('@t/app/a').A",
      'app/src/d.ts': importing('./a.ts'),
    }
    expect(cyclesOf(texts)).toEqual(['app/src/a.ts -> app/src/b.ts -> core/src/c.ts -> app/src/a.ts'])
  })

  it('are named by the shortest way round, and again only where another file closes one', () => {
    const texts = {
      'app/src/a.ts': importing('./b.ts', './c.ts'),
      'app/src/b.ts': importing('./c.ts'),
      'app/src/c.ts': importing('./a.ts'),
      'app/src/d.ts': importing('./e.ts'),
      'app/src/e.ts': importing('./d.ts'),
    }
    expect(cyclesOf(texts)).toEqual([
      'app/src/a.ts -> app/src/c.ts -> app/src/a.ts',
      'app/src/b.ts -> app/src/c.ts -> app/src/a.ts -> app/src/b.ts',
      'app/src/d.ts -> app/src/e.ts -> app/src/d.ts',
    ])
  })

  it('are not two ways to one file', () => {
    const texts = { 'app/src/a.ts': importing('./b.ts', './c.ts'), 'app/src/b.ts': importing('./c.ts') }
    expect(cyclesOf(texts)).toEqual([])
  })
})
