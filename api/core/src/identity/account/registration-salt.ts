import { createHmac, hkdfSync } from 'node:crypto'
import { foldAddress } from '../../address.ts'
import type { MasterKeys } from '../../runtime/seal.ts'

/**
 * The salt of a registration's password: its own for each address, and known to nobody without the master key. So the
 * same password for the same address has the same hash, by which a registration that is repeated is told from one by
 * somebody else, without hashing twice.
 */
export function registrationSalt(keys: MasterKeys, email: string): Buffer {
  const [key] = keys.values()
  if (key === undefined) throw new Error('no master key')
  const derived = Buffer.from(hkdfSync('sha256', key, '', 'matte registration salt', 32))
  return createHmac('sha256', derived).update(foldAddress(email)).digest().subarray(0, 16)
}
