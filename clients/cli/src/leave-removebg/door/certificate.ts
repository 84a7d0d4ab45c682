// A certificate for one host from an authority of this run. Both private keys stay in memory. The authority's is
// forgotten once it has signed, so no second certificate exists that a client of this run trusts.
// The library needs the polyfill, which comes before it.
import 'reflect-metadata'
import { KeyObject, randomBytes } from 'node:crypto'
import * as x509 from '@peculiar/x509'

export type DoorCertificate = {
  /** PEM, for the programs that shall trust the door. */
  readonly authority: string
  readonly certificate: string
  readonly key: string
}

const hourMs = 3_600_000
/** A program may run for months. */
const validMs = 365 * 24 * hourMs

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

export async function makeCertificate(host: string): Promise<DoorCertificate> {
  const authorityKeys = await makeKeys()
  const keys = await makeKeys()
  const period = { notBefore: new Date(Date.now() - hourMs), notAfter: new Date(Date.now() + validMs) }
  const common = { ...period, signingAlgorithm: algorithm }
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...common,
    serialNumber: makeSerial(),
    name: `CN=matte door ${randomBytes(4).toString('hex')}`,
    keys: authorityKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(authorityKeys.publicKey),
    ],
  })
  const certificate = await x509.X509CertificateGenerator.create({
    ...common,
    serialNumber: makeSerial(),
    subject: `CN=${host}`,
    issuer: authority.subject,
    publicKey: keys.publicKey,
    signingKey: authorityKeys.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: host }]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(authorityKeys.publicKey),
    ],
  })
  return {
    authority: `${authority.toString('pem')}\n`,
    certificate: `${certificate.toString('pem')}\n`,
    key: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

const makeKeys = () => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])

/** Positive, so its first bit is 0. */
const makeSerial = (): string => `01${randomBytes(15).toString('hex')}`
