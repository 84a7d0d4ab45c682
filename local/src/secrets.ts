import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RolePasswords } from '@matte/core/db/roles/apply-roles'

/** What the parts of one local installation know and nobody else should. */
export type Secrets = {
  /** Password of the owner of the tables. */
  readonly databasePassword: string
  readonly rolePasswords: RolePasswords
  readonly s3AccessKeyId: string
  readonly s3SecretAccessKey: string
  /** 32 bytes, base64. */
  readonly masterKey: string
}

/**
 * Reads `secrets.json` of the folder, or makes it (mode 0600) when the installation is new.
 * @throws Error when the data is there and its secrets are not: new ones would not open it
 */
export function readSecrets(localDir: string): Secrets {
  const path = join(localDir, 'secrets.json')
  if (existsSync(path)) return addMissing(path, JSON.parse(readFileSync(path, 'utf8')) as Partial<Secrets>)
  const dataDir = join(localDir, 'data')
  if (existsSync(dataDir)) {
    throw new Error(`${path} is gone, and ${dataDir} cannot be used without it. Put it back, or remove ${dataDir}.`)
  }
  const secrets: Secrets = {
    databasePassword: randomBytes(24).toString('base64url'),
    s3AccessKeyId: randomBytes(10).toString('hex').toUpperCase(),
    s3SecretAccessKey: randomBytes(30).toString('base64url'),
    masterKey: randomBytes(32).toString('base64'),
    rolePasswords: newRolePasswords(),
  }
  write(path, secrets)
  return secrets
}

/** An installation from before roles gets their passwords at its next start. */
function addMissing(path: string, known: Partial<Secrets>): Secrets {
  if (known.rolePasswords !== undefined) return known as Secrets
  const secrets = { ...(known as Omit<Secrets, 'rolePasswords'>), rolePasswords: newRolePasswords() }
  write(path, secrets)
  return secrets
}

const write = (path: string, secrets: Secrets): void => writePrivately(path, `${JSON.stringify(secrets, null, 2)}\n`)

function newRolePasswords(): RolePasswords {
  const password = (): string => randomBytes(24).toString('base64url')
  return { api: password(), worker: password(), operator: password(), dispatcher: password() }
}

/** Writes a file that only this user can read; whoever reads it meanwhile sees the old or the new, never a part. */
export function writePrivately(path: string, text: string): void {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}
