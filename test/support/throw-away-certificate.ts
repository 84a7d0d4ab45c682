// A self-signed certificate for 127.0.0.1 and one host name, valid for a day, so the repository needs no key and no
// program but Node. Node can create keys and signatures but no certificates, so this file encodes them.
import { createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

export type Certificate = { readonly certificate: string; readonly key: string }

const dayMs = 86_400_000

export function makeThrowAwayCertificate(hostName = 'localhost'): Certificate {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const name = sequence(tlv(0x31, sequence(oid(0x55, 0x04, 0x03), tlv(0x0c, Buffer.from('matte test')))))
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)])
  const body = sequence(
    tlv(0xa0, integer(Buffer.from([2]))), // version 3
    integer(serial),
    ecdsaWithSha256,
    name,
    sequence(utcTime(Date.now() - dayMs), utcTime(Date.now() + dayMs)),
    name,
    publicKey,
    tlv(0xa3, sequence(alternativeNames(hostName), authority)),
  )
  const signature = sign('sha256', body, privateKey)
  const der = sequence(body, ecdsaWithSha256, tlv(0x03, Buffer.concat([Buffer.from([0]), signature])))
  const certificate = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`
  return { certificate, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

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
const authority = sequence(oid(0x55, 0x1d, 0x13), tlv(0x04, sequence(tlv(0x01, Buffer.from([0xff])))))
