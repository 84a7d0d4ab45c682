import { rootDir } from '@matte/local/paths'
import { describe, expect, it } from 'vitest'
import { checkLock, type Lock, type Manifests, readLock } from './check-lock.ts'

const manifests: Manifests = {
  '': { version: '1.0.0', workspaces: ['a', 'a/b'], devDependencies: { tool: '2.0.0' } },
  a: { dependencies: { '@m/b': '*', left: '1.1.1' } },
  'a/b': { dependencies: { left: '1.2.2' }, optionalDependencies: { native: '3.0.0' } },
}
const packages: Lock['packages'] = {
  ...manifests,
  'node_modules/@m/b': { resolved: 'a/b', link: true },
  'node_modules/tool': { version: '2.0.0' },
  'node_modules/left': { version: '1.2.2' },
  'node_modules/native': { version: '3.0.0' },
  'a/node_modules/left': { version: '1.1.1' },
  'a/b/node_modules/left': { version: '1.2.2' },
}
const check = (changes: Lock['packages'], changed: Manifests = {}) =>
  checkLock({ packages: { ...packages, ...changes } }, { ...manifests, ...changed }).map(
    ({ where, problem }) => `${where}: ${problem}`,
  )

describe('the check of package-lock.json', () => {
  it('accepts the lock file of this repository', () => {
    const { lock, manifests: own } = readLock(rootDir)
    expect(Object.keys(own).length).toBeGreaterThan(5)
    expect(checkLock(lock, own), 'Run npm install --package-lock-only in the root folder.').toEqual([])
  })

  it('accepts a lock file with nested versions and linked workspaces', () => {
    expect(check({})).toEqual([])
  })

  it.each<[string, Manifests, string]>([
    [
      'a changed range',
      { '': { version: '1.0.0', devDependencies: { tool: '^2.0.0' } } },
      'package.json has ^2.0.0, package-lock.json has 2.0.0',
    ],
    [
      'a new package',
      { a: { dependencies: { '@m/b': '*', left: '1.1.1', right: '1.0.0' } } },
      'package.json has 1.0.0, package-lock.json has no such package',
    ],
    [
      'a removed package',
      { a: { dependencies: { '@m/b': '*' } } },
      'package.json has no such package, package-lock.json has 1.1.1',
    ],
    [
      'another version of the project',
      { '': { version: '1.1.0', devDependencies: { tool: '2.0.0' } } },
      'package.json has 1.1.0',
    ],
    ['a new workspace', { c: {} }, 'c/package.json: package-lock.json lacks this workspace'],
  ])('finds %s', (_what, changed, message) => {
    expect(check({}, changed).join('\n')).toContain(message)
  })

  it.each<[string, Lock['packages'], string]>([
    ['an exact version that resolves to another', { 'node_modules/tool': { version: '2.0.1' } }, 'resolves 2.0.1'],
    [
      'the same in a nested folder',
      { 'a/node_modules/left': { version: '1.1.2' } },
      'a/package.json: left: package.json has 1.1.1',
    ],
    ['a removed workspace', { old: {} }, 'old: Only package-lock.json has this workspace'],
    [
      'the address of a registry',
      { 'node_modules/tool': { version: '2.0.0', resolved: 'https://registry.example.com/tool.tgz' } },
      'node_modules/tool: The entry names a registry',
    ],
  ])('finds %s', (_what, changes, message) => {
    expect(check(changes).join('\n')).toContain(message)
  })

  it('finds a package that the lock file lacks', () => {
    const { 'node_modules/native': _, ...rest } = packages
    const found = checkLock({ packages: rest }, manifests)
    expect(found).toMatchObject([{ where: 'a/b/package.json: native' }])
  })
})
