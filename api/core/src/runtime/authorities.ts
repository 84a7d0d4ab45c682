// Private certificate authorities of an installation. They hold for every outgoing TLS connection of the process except
// those to receivers of webhooks and to callers' URLs: such a receiver is no server of the installation.
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext, getCACertificates, type SecureContext, setDefaultCACertificates } from 'node:tls'
import { ConfigError, optionalText, type Schema } from './env.ts'

export const authoritySettings = {
  trustedCaFile: optionalText('TRUSTED_CA_FILE', {
    description:
      'PEM file of private authorities, trusted in addition to the public ones for PostgreSQL, NATS, the store, ' +
      'Triton, mail and payments; not for webhooks',
  }),
} as const satisfies Schema

let foreign: SecureContext | undefined

/** Trusts the authorities in the file from now on. Called once, before the first connection. @throws ConfigError */
export function trustAuthorities(file: string | undefined): void {
  if (file === undefined) return
  const own = readCertificates(file)
  const known = getCACertificates('default')
  // Built once: reading 140 certificates takes milliseconds for each connection.
  foreign = createSecureContext({ ca: known })
  setDefaultCACertificates([...known, ...own])
}

/** Trust in servers outside the installation; undefined: as for all others. */
export const foreignTrust = (): SecureContext | undefined => foreign

function readCertificates(file: string): readonly string[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError(`TRUSTED_CA_FILE names ${file}, which cannot be read (${code})`)
  }
  const certificates = text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? []
  try {
    for (const certificate of certificates) new X509Certificate(certificate)
  } catch {
    throw new ConfigError(`TRUSTED_CA_FILE names ${file}, which has a certificate that cannot be read`)
  }
  if (certificates.length === 0) throw new ConfigError(`TRUSTED_CA_FILE names ${file}, which has no PEM certificate`)
  return certificates
}
