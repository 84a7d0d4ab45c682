import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { describe, expect, it } from 'vitest'

describe('the rules of dependency-cruiser', () => {
  it('name existing paths, because a rule for another path finds nothing', () => {
    const rules = readFileSync(join(rootDir, '.dependency-cruiser.mjs'), 'utf8')
    const paths = [...rules.matchAll(/'\^?((?:api|controller|dispatcher|docs|local|protos)\/[\w/.-]*)/g)]
    expect(paths.length).toBeGreaterThan(20)
    const isThere = (path: string): boolean => ['', '.ts'].some((ending) => existsSync(join(rootDir, path + ending)))
    expect(paths.map(([, path = '']) => path).filter((path) => !isThere(path))).toEqual([])
  })
})
