import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { foreignTrust, trustAuthorities } from './authorities.ts'
import { ConfigError } from './env.ts'

const dir = mkdtempSync(join(tmpdir(), 'matte-authorities-'))
afterAll(() => rmSync(dir, { recursive: true }))

const pem = (text: string): string => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`

it.each([
  ['is missing', undefined, 'cannot be read (ENOENT)'],
  ['has no certificate', 'nothing', 'has no PEM certificate'],
  ['has a damaged certificate', pem('MIIB'), 'has a certificate that cannot be read'],
])('rejects a file that %s', (_what, contents, words) => {
  const file = join(dir, 'ca.crt')
  if (contents !== undefined) writeFileSync(file, contents)
  expect(() => trustAuthorities(file)).toThrow(ConfigError)
  expect(() => trustAuthorities(file)).toThrow(words)
  expect(foreignTrust()).toBeUndefined()
})
