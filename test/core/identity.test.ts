// Store access by pod identity: a token service on loopback, configured like IRSA (AWS_ROLE_ARN,
// AWS_WEB_IDENTITY_TOKEN_FILE), and a store that records the signing key of each request.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bucket, openBucket } from '@matte/core/storage/bucket'
import { storeKeysOf } from '@matte/core/storage/store-settings'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'

const png = { contentType: 'image/png' }
const minuteMs = 60_000

/** In the form of `kubectl create token`, so the log filter must recognise it. */
const tokenOf = (name: string): string =>
  `eyJhbGciOiJSUzI1NiJ9.${Buffer.from(name.repeat(5)).toString('base64url')}.c2lnbmF0dXJl`

type Session = { readonly minutes: number; readonly status?: number; readonly hangs?: boolean }

describe('store access by pod identity', () => {
  const dir = mkdtempSync(join(tmpdir(), 'matte-identity-'))
  const tokenFile = join(dir, 'token')
  const before = { ...process.env }
  let servers: Server[]
  let bucket: Bucket
  let session: Session
  let tokens: string[]
  let signers: string[]
  let refuse: RegExp | undefined
  let failures: Error[]
  let endSlow: () => void
  let refusal: string

  async function listen(server: Server): Promise<string> {
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  /** Responds with keys whose id contains the number of the call. */
  const tokenService = (): Server =>
    createServer((request, response) => {
      let body = ''
      request.on('data', (part) => {
        body += part
      })
      request.on('end', () => {
        const token = new URLSearchParams(body).get('WebIdentityToken') ?? ''
        tokens.push(token)
        const { status = 200, minutes, hangs = false } = session
        if (hangs) return
        response.setHeader('content-type', 'text/xml')
        if (status !== 200) {
          const words = `<Message>Not authorized: ${token}</Message>`
          const refusal = `<Error><Type>Sender</Type><Code>AccessDenied</Code>${words}</Error>`
          response.writeHead(status).end(`<ErrorResponse>${refusal}<RequestId>1</RequestId></ErrorResponse>`)
          return
        }
        const expiration = new Date(Date.now() + minutes * minuteMs).toISOString()
        response.end(`<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
          <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIA${tokens.length}</AccessKeyId>
          <SecretAccessKey>very-secret-key</SecretAccessKey><SessionToken>session-${tokens.length}</SessionToken>
          <Expiration>${expiration}</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
          </AssumeRoleWithWebIdentityResponse>`)
      })
    })

  const store = (): Server =>
    createServer((request, response) => {
      const id = /Credential=(\w+)/.exec(request.headers.authorization ?? '')?.[1] ?? 'nobody'
      signers.push(`${id} ${request.headers['x-amz-security-token']}`)
      request.resume().on('end', () => {
        if (refuse?.test(id)) {
          response.writeHead(400).end(`<Error><Code>${refusal}</Code></Error>`)
          return
        }
        if (request.url?.includes('/slow')) {
          response.write('pix')
          endSlow = () => void response.end('els')
          return
        }
        const isList = request.url?.includes('list-type=2')
        response.end(isList ? '<ListBucketResult/>' : request.method === 'GET' ? 'pixels' : '')
      })
    })

  beforeEach(async () => {
    servers = []
    tokens = []
    signers = []
    failures = []
    refuse = undefined
    refusal = 'ExpiredToken'
    session = { minutes: 60 }
    writeFileSync(tokenFile, tokenOf('first'))
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name]
    process.env.AWS_ROLE_ARN = 'arn:aws:iam::111122223333:role/matte'
    process.env.AWS_WEB_IDENTITY_TOKEN_FILE = tokenFile
    process.env.AWS_EC2_METADATA_DISABLED = 'true'
    process.env.AWS_ENDPOINT_URL_STS = await listen(tokenService())
    const endpoint = await listen(store())
    const settings = {
      ...({ s3Credentials: 'ambient', s3Region: 'eu-central-1' } as const),
      ...{ s3AccessKeyId: undefined, s3SecretAccessKey: undefined, s3SessionToken: undefined },
    }
    bucket = openBucket({
      internalEndpoint: endpoint,
      publicEndpoint: 'https://images.example.com',
      bucket: 'matte',
      region: 'eu-central-1',
      ...storeKeysOf(settings, (error) => void failures.push(error as Error)),
    })
  })

  afterAll(() => rmSync(dir, { recursive: true }))

  afterEach(() => {
    bucket.close()
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
    process.env = { ...before }
  })

  it('signs every operation with the keys of the role, from one session', async () => {
    await bucket.put('a', Buffer.from('pixels'), png)
    await bucket.get('a', { maxBytes: 100 })
    await (await bucket.open('a')).body?.resume()
    expect(await bucket.probe(5_000)).toBe(true)
    expect(new Set(signers)).toEqual(new Set(['ASIA1 session-1']))
    expect(signers).toHaveLength(4)
    expect(tokens).toEqual([tokenOf('first')])
  })

  it('reads the rotated token file and gets new keys when the store rejects the old ones', async () => {
    await bucket.put('a', Buffer.from('pixels'), png)
    writeFileSync(tokenFile, tokenOf('second'))
    refuse = /^ASIA1$/
    expect((await bucket.get('a', { maxBytes: 100 })).toString()).toBe('pixels')
    expect(tokens).toEqual([tokenOf('first'), tokenOf('second')])
    expect(signers.at(-1)).toBe('ASIA2 session-2')
  })

  const operations: Record<string, () => Promise<unknown>> = {
    open: async () => (await bucket.open('a')).body?.resume(),
    'open without the body': () => bucket.open('a', { headOnly: true }),
    delete: () => bucket.delete('a'),
    list: () => bucket.list('a'),
    probe: async () => expect(await bucket.probe(5_000)).toBe(true),
    ensure: () => bucket.ensure(),
  }

  it.each(Object.entries(operations))(
    'gets new keys for %s when the store rejects the old ones',
    async (_name, operate) => {
      await bucket.put('a', Buffer.from('pixels'), png)
      refuse = /^ASIA1$/
      await operate()
      expect(tokens).toHaveLength(2)
      expect(signers.at(-1)).toBe('ASIA2 session-2')
    },
  )

  it('continues a download whose keys are replaced', async () => {
    const { body } = await bucket.open('slow')
    refuse = /^ASIA1$/
    await bucket.delete('a')
    endSlow()
    expect(Buffer.concat((await body?.toArray()) ?? []).toString()).toBe('pixels')
  })

  it('requests keys once more, not per request, while the store rejects all', async () => {
    refuse = /./
    for (let i = 0; i < 5; i++) {
      const refused = { name: 'StorageError', kind: 'unavailable' }
      await expect(bucket.put('a', Buffer.from('pixels'), png)).rejects.toMatchObject(refused)
      await expect(bucket.open('a')).rejects.toMatchObject({ ...refused, cause: { name: 'ExpiredToken' } })
      expect(await bucket.probe(5_000)).toBe(false)
    }
    expect(tokens).toHaveLength(2)
  })

  it('does not query the reason of a rejection that states it', async () => {
    refusal = 'AccessDenied'
    refuse = /./
    await expect(bucket.open('a')).rejects.toMatchObject({ kind: 'unavailable', cause: { name: 'AccessDenied' } })
    expect(await bucket.probe(5_000)).toBe(false)
    // The open, the probe, and a list request for the probe's error code.
    expect(signers).toHaveLength(3)
    expect(tokens).toHaveLength(1)
  })

  it('reports the store’s error when the token service fails too', async () => {
    await bucket.put('a', Buffer.from('pixels'), png)
    refuse = /./
    session = { minutes: 60, status: 403 }
    await expect(bucket.open('a')).rejects.toMatchObject({ kind: 'unavailable', cause: { name: 'ExpiredToken' } })
    expect(failures).toHaveLength(1)
    // The put, and a single open: the same keys would be rejected again.
    expect(signers).toHaveLength(2)
  })

  it('makes upload links of 15 minutes, or of a shorter remaining session', async () => {
    const link = await bucket.presignPut('a', { ...png, expiresInSeconds: 900, sizeBytes: 1 })
    expect(link.expiresInSeconds).toBe(900)
    const query = new URL(link.url).searchParams
    expect([query.get('X-Amz-Expires'), query.get('X-Amz-Security-Token')]).toEqual(['900', 'session-1'])
  })

  it('makes shorter upload links when the session is shorter', async () => {
    session = { minutes: 10 }
    const { url, expiresInSeconds } = await bucket.presignPut('a', { ...png, expiresInSeconds: 900, sizeBytes: 1 })
    expect(expiresInSeconds).toBeGreaterThan(500)
    expect(expiresInSeconds).toBeLessThanOrEqual(600)
    expect(new URL(url).searchParams.get('X-Amz-Expires')).toBe(String(expiresInSeconds))
  })

  it('rejects links of days, which would end with the session', async () => {
    await bucket.put('a', Buffer.from('pixels'), png)
    const link = () => bucket.presignGet('a', { ...png, fileName: 'a.png', expiresInSeconds: 604_800 })
    expect(link).toThrow(expect.objectContaining({ name: 'StorageError', kind: 'unavailable' }))
  })

  it('is unavailable while the identity is rejected, with the reason and without the token', async () => {
    session = { minutes: 60, status: 403 }
    const unavailable = { name: 'StorageError', kind: 'unavailable' }
    await expect(bucket.presignPut('a', { ...png, expiresInSeconds: 900, sizeBytes: 1 })).rejects.toMatchObject(
      unavailable,
    )
    await expect(bucket.put('a', Buffer.from('pixels'), png)).rejects.toMatchObject(unavailable)
    await expect(bucket.open('a')).rejects.toMatchObject(unavailable)
    expect(signers).toEqual([])
    const text = failures.map(({ message, stack, cause }) => `${message} ${stack} ${String(cause)}`).join()
    expect(text).toContain('Not authorized: [token]')
    expect(text).not.toContain(tokenOf('first'))
  })

  it('ends a request at its signal while the token service hangs', async () => {
    session = { minutes: 60, hangs: true }
    expect(await bucket.probe(200)).toBe(false)
    // The fetch has a later limit.
    expect(failures).toEqual([])
    expect(signers).toEqual([])
  })
})
