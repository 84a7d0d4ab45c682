import { describe, expect, it } from 'vitest'
import { StorageError } from '../../storage/storage-error.ts'
import { type ConnectionErrorReason, connectionErrorReason } from './connection-error.ts'

const coded = (code: string, message = 'words'): Error => Object.assign(new Error(message), { code })
const named = (name: string, message = 'words'): Error => Object.assign(new Error(message), { name })
const answered = (name: string, httpStatusCode: number): Error =>
  Object.assign(named(name), { $metadata: { httpStatusCode } })

/** Errors as raised by Node, the drivers of PostgreSQL and NATS, undici and the S3 client. */
const table: readonly (readonly [ConnectionErrorReason, string, unknown])[] = [
  ['certificate', 'expired', coded('CERT_HAS_EXPIRED', 'certificate has expired')],
  ['certificate', 'not yet valid', coded('CERT_NOT_YET_VALID')],
  ['certificate', 'signed by itself', coded('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate')],
  ['certificate', 'a chain that ends in one', coded('SELF_SIGNED_CERT_IN_CHAIN')],
  ['certificate', 'an unknown issuer', coded('UNABLE_TO_GET_ISSUER_CERT_LOCALLY')],
  ['certificate', 'a chain without its middle', coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE')],
  [
    'certificate',
    'another name',
    coded('ERR_TLS_CERT_ALTNAME_INVALID', "Hostname/IP does not match certificate's altnames"),
  ],
  ['certificate', 'of a client, refused', coded('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED')],
  ['certificate', 'of a client, of an unknown issuer', coded('ERR_SSL_TLSV1_ALERT_UNKNOWN_CA')],
  ['credentials', 'a password that PostgreSQL refuses', coded('28P01', 'password authentication failed for user "m"')],
  ['credentials', 'a role that may not log in', coded('28000')],
  ['credentials', 'no password where SCRAM wants one', new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password')],
  ['credentials', 'refused by NATS', named('AuthorizationError', 'Authorization Violation')],
  ['credentials', 'of NATS, expired', named('UserAuthenticationExpiredError')],
  ['credentials', 'an access key that the store does not know', answered('InvalidAccessKeyId', 403)],
  ['credentials', 'a HEAD that is answered 403, without words', answered('UnknownError', 403)],
  ['credentials', 'the words of a store', '<Error><Code>SignatureDoesNotMatch</Code></Error>'],
  ['unreachable', 'refused', coded('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1')],
  ['unreachable', 'a name that nobody knows', coded('ENOTFOUND')],
  ['unreachable', 'a name server that does not answer', coded('EAI_AGAIN')],
  ['unreachable', 'no way there', coded('EHOSTUNREACH')],
  ['unreachable', 'a server that starts', coded('57P03', 'the database system is starting up')],
  ['unreachable', 'a server without room', coded('53300', 'sorry, too many clients already')],
  ['unreachable', 'cut off', new Error('Connection terminated unexpectedly')],
  ['unreachable', 'cut off, of undici', coded('UND_ERR_SOCKET', 'other side closed')],
  ['unreachable', 'no server of NATS', named('ConnectionError', 'connection refused')],
  ['timeout', 'of the system', coded('ETIMEDOUT')],
  ['timeout', 'of a connection of undici', coded('UND_ERR_CONNECT_TIMEOUT')],
  ['timeout', 'of an answer of undici', coded('UND_ERR_HEADERS_TIMEOUT')],
  ['timeout', 'of a connection of the database', new Error('Connection terminated due to connection timeout')],
  ['timeout', 'of a statement without an answer', new Error('Query read timeout')],
  ['timeout', 'of a signal', AbortSignal.timeout(0).reason ?? new DOMException('aborted', 'TimeoutError')],
  ['other', 'a database that is not there', coded('3D000', 'database "m" does not exist')],
  ['other', 'a bucket that is not there', answered('NotFound', 404)],
  ['other', 'a store that has enough', answered('SlowDown', 503)],
  ['other', 'what is no error', undefined],
  ['other', 'a deadlock, which begins like a status', coded('40P01')],
]

describe('connectionErrorReason', () => {
  it.each(table)('%s: %s', (reason, _what, error) => {
    expect(connectionErrorReason(error)).toBe(reason)
  })

  it.each(table)('%s, as the cause of a generic error: %s', (reason, _what, error) => {
    expect(connectionErrorReason(new StorageError('unavailable', 'object store unavailable', error))).toBe(reason)
  })

  it('classifies attempts at several addresses', () => {
    const both = new AggregateError([new Error('odd'), coded('ECONNREFUSED')])
    expect(connectionErrorReason(both)).toBe('unreachable')
  })

  it('terminates on circular causes', () => {
    const error = new Error('a')
    error.cause = error
    expect(connectionErrorReason(error)).toBe('other')
  })
})
