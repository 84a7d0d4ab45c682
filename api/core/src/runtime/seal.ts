// Seals recoverable secrets with AES-256-GCM. The row id is associated data (D17), so a value copied to another row
// does not open. The first master key seals; all open.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

export type MasterKeys = ReadonlyMap<string, Buffer>

/** Parses `id:base64,id2:base64`, also with line breaks; each key has 32 bytes. Errors contain no key. */
export function parseMasterKeys(text: string): MasterKeys {
  const keys = new Map<string, Buffer>()
  for (const part of text.trim().split(/\s*[,\n]\s*/)) {
    const [id = '', base64 = ''] = part.split(':')
    const key = Buffer.from(base64, 'base64')
    if (!/^[A-Za-z0-9_-]{1,32}$/.test(id) || key.length !== 32) {
      throw new Error('must be id:base64 pairs, joined by commas, each key 32 bytes (openssl rand -base64 32)')
    }
    // The key that the second one replaces would open nothing any more.
    if (keys.has(id)) throw new Error(`must have each id once; ${id} occurs twice`)
    keys.set(id, key)
  }
  return keys
}

export function seal(keys: MasterKeys, rowId: string, plain: string): string {
  const [entry] = keys
  if (entry === undefined) throw new Error('no master key')
  const [keyId, key] = entry
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(rowId))
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return [keyId, ...[iv, cipher.getAuthTag(), sealed].map((bytes) => bytes.toString('base64url'))].join('.')
}

/** A secret cannot be opened; the message says what to do and contains no key. */
export class UnsealError extends Error {
  override name = 'UnsealError'
}

/** Opens a value sealed for the same row. @throws UnsealError if the key is missing or the value was changed */
export function unseal(keys: MasterKeys, rowId: string, sealed: string): string {
  const [keyId = '', iv = '', tag = '', body = ''] = sealed.split('.')
  const key = keys.get(keyId)
  if (key === undefined)
    throw new UnsealError(`master key ${keyId} is not configured: add it to MASTER_KEYS or its file`)
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'))
      .setAAD(Buffer.from(rowId))
      .setAuthTag(Buffer.from(tag, 'base64url'))
    return Buffer.concat([decipher.update(Buffer.from(body, 'base64url')), decipher.final()]).toString('utf8')
  } catch (cause) {
    const reasons = 'is not the one that sealed it, or the sealed value was changed or copied from another row'
    throw new UnsealError(`the secret cannot be opened: master key ${keyId} ${reasons}`, { cause })
  }
}
