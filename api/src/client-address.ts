import { isIP } from 'node:net'

/**
 * The address as it is stored and shown: without the zone of a local one, and null for a text that is none, such as
 * one with a port, since a proxy's manner of writing must not keep people from signing in.
 */
export function clientAddress(address: string): string | null {
  const plain = address.split('%')[0] ?? ''
  return isIP(plain) === 0 ? null : plain
}
