import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { readSecrets } from './secrets.ts'

const dirs: string[] = []
const newDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'matte-secrets-'))
  dirs.push(dir)
  return dir
}
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true })
})

it('creates secrets once, readable by this user only', () => {
  const dir = newDir()
  const made = readSecrets(dir)
  const { ino } = statSync(join(dir, 'secrets.json'))
  expect(readSecrets(dir)).toEqual(made)
  expect(statSync(join(dir, 'secrets.json')).ino).toBe(ino)
  expect(statSync(join(dir, 'secrets.json')).mode & 0o777).toBe(0o600)
  expect(new Set(Object.values(made.rolePasswords)).size).toBe(4)
})

it('adds role passwords to an older installation, and changes nothing else', () => {
  const dir = newDir()
  const { rolePasswords: _new, ...before } = readSecrets(dir)
  writeFileSync(join(dir, 'secrets.json'), JSON.stringify(before))
  const after = readSecrets(dir)
  expect(after).toMatchObject(before)
  expect(Object.keys(after.rolePasswords)).toEqual(['api', 'worker', 'operator', 'dispatcher'])
  expect(JSON.parse(readFileSync(join(dir, 'secrets.json'), 'utf8'))).toEqual(after)
})

it('refuses to create secrets for existing data', () => {
  const dir = newDir()
  mkdirSync(join(dir, 'data'))
  expect(() => readSecrets(dir)).toThrow(/is missing/)
})
