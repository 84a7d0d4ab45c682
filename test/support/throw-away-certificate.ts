// Throw-away certificates for 127.0.0.1 and one host name, valid for a day, so the repository needs no key and no
// program but Node. Node can create keys and signatures but no certificates, so this file encodes them.
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

export type Certificate = { readonly certificate: string; readonly key: string }

type Issuer = { readonly name: string; readonly privateKey: KeyObject }

export type Authority = {
  /** PEM, for clients and servers that trust it. */
  readonly certificate: string
  /** A certificate for servers and clients. */
  issue(hostName?: string): Certificate
}

const dayMs = 86_400_000

/** Self-signed. */
export function makeThrowAwayCertificate(hostName = 'localhost'): Certificate {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const self = { name: 'matte test', privateKey }
  return encode({ subject: self, issuer: self, extensions: [alternativeNames(hostName), isAuthority] })
}

/** A private authority, as a company has one. */
export function makeAuthority(): Authority {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = { name: `matte test authority ${randomBytes(4).toString('hex')}`, privateKey }
  return {
    certificate: encode({ subject: issuer, issuer, extensions: [isAuthority] }).certificate,
    issue: (hostName = 'localhost') => {
      const subject = { name: hostName, privateKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey }
      return encode({ subject, issuer, extensions: [alternativeNames(hostName)] })
    },
  }
}

type Contents = { readonly subject: Issuer; readonly issuer: Issuer; readonly extensions: readonly Buffer[] }

function encode({ subject, issuer, extensions }: Contents): Certificate {
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)])
  const body = sequence(
    tlv(0xa0, integer(Buffer.from([2]))), // version 3
    integer(serial),
    ecdsaWithSha256,
    commonName(issuer.name),
    sequence(utcTime(Date.now() - dayMs), utcTime(Date.now() + dayMs)),
    commonName(subject.name),
    createPublicKey(subject.privateKey).export({ type: 'spki', format: 'der' }),
    tlv(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', body, issuer.privateKey)
  const der = sequence(body, ecdsaWithSha256, tlv(0x03, Buffer.concat([Buffer.from([0]), signature])))
  const certificate = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`
  return { certificate, key: subject.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

const commonName = (name: string): Buffer =>
  sequence(tlv(0x31, sequence(oid(0x55, 0x04, 0x03), tlv(0x0c, Buffer.from(name)))))

/** One DER value: tag, length, contents. */
function tlv(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  const { length } = content
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...head]), content])
}

const sequence = (...contents: Buffer[]): Buffer => tlv(0x30, ...contents)
const integer = (value: Buffer): Buffer => tlv(0x02, value)
const oid = (...bytes: number[]): Buffer => tlv(0x06, Buffer.from(bytes))
const utcTime = (ms: number): Buffer =>
  tlv(
    0x17,
    Buffer.from(
      `${new Date(ms)
        .toISOString()
        .replace(/[-:T]|\.\d+/g, '')
        .slice(2, 14)}Z`,
    ),
  )

const ecdsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
const loopback = tlv(0x87, Buffer.from([127, 0, 0, 1]))
const alternativeNames = (hostName: string): Buffer =>
  sequence(oid(0x55, 0x1d, 0x11), tlv(0x04, sequence(loopback, tlv(0x82, Buffer.from(hostName)))))
const isAuthority = sequence(oid(0x55, 0x1d, 0x13), tlv(0x04, sequence(tlv(0x01, Buffer.from([0xff])))))
