import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RolePasswords } from '@matte/core/db/roles/apply-roles'

export type Secrets = {
  readonly databasePassword: string
  readonly rolePasswords: RolePasswords
  readonly s3AccessKeyId: string
  readonly s3SecretAccessKey: string
  /** 32 bytes, base64. */
  readonly masterKey: string
}

/** Reads or creates `secrets.json`. @throws Error if it is missing but data exists, which new secrets cannot open */
export function readSecrets(localDir: string): Secrets {
  const path = join(localDir, 'secrets.json')
  const dataDir = join(localDir, 'data')
  const known = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Partial<Secrets>) : undefined
  if (known === undefined && existsSync(dataDir)) {
    throw new Error(`${path} is missing, and ${dataDir} cannot be opened without it. Restore it, or remove ${dataDir}.`)
  }
  const secrets = { ...newSecrets(), ...known }
  const isComplete = Object.keys(secrets).length === Object.keys(known ?? {}).length
  if (!isComplete) writePrivately(path, `${JSON.stringify(secrets, null, 2)}\n`)
  return secrets
}

function newSecrets(): Secrets {
  const password = (): string => randomBytes(24).toString('base64url')
  return {
    databasePassword: password(),
    s3AccessKeyId: randomBytes(10).toString('hex').toUpperCase(),
    s3SecretAccessKey: randomBytes(30).toString('base64url'),
    masterKey: randomBytes(32).toString('base64'),
    rolePasswords: { api: password(), worker: password(), operator: password(), dispatcher: password() },
  }
}

/** Writes a file for this user only, atomically. */
export function writePrivately(path: string, text: string): void {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}
