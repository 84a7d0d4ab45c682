import { once } from 'node:events'
import { type AddressInfo, createServer, connect as dial } from 'node:net'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { classifyError, countErrorsOf, dependencyErrors } from './dependency-errors.ts'

const coded = (code: string, cause?: unknown): Error => Object.assign(new Error(code, { cause }), { code })

describe('an error of a dependency', () => {
  it.each([
    ['certificate', 'CERT_HAS_EXPIRED'],
    ['certificate', 'SELF_SIGNED_CERT_IN_CHAIN'],
    ['certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['certificate', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    ['certificate', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['unreachable', 'ECONNREFUSED'],
    ['unreachable', 'ECONNRESET'],
    ['unreachable', 'ENOTFOUND'],
    ['unreachable', 'EAI_AGAIN'],
    ['timeout', 'ETIMEDOUT'],
    ['timeout', 'UND_ERR_CONNECT_TIMEOUT'],
    ['other', 'EACCES'],
  ])('is one of %s by the code %s, its own or that of its cause', (reason, code) => {
    expect(classifyError(coded(code))).toBe(reason)
    expect(classifyError(new Error('wrapped', { cause: new Error('twice', { cause: coded(code) }) }))).toBe(reason)
  })

  it('says what caused it, where both have a code', () => {
    expect(classifyError(coded('UND_ERR_SOCKET', coded('CERT_HAS_EXPIRED')))).toBe('certificate')
    expect(classifyError(coded('ECONNREFUSED', new Error('no code')))).toBe('unreachable')
  })

  it('is a timeout when a signal of time has ended it', () => {
    expect(classifyError(new DOMException('too late', 'TimeoutError'))).toBe('timeout')
  })

  it('is one of another kind when nothing says more', () => {
    for (const error of [undefined, 'text', { code: 'ECONNREFUSED' }, new Error('no code')])
      expect(classifyError(error)).toBe('other')
  })

  it('is that of a real connection: refused, or to two addresses that both refuse', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    for (const host of ['127.0.0.1', 'localhost']) {
      const [error] = await once(dial({ host, port, autoSelectFamily: true }), 'error')
      expect(classifyError(error)).toBe('unreachable')
    }
  })

  it('is counted under its dependency; every combination is there from the start', async () => {
    const registry = new Registry()
    const count = countErrorsOf(dependencyErrors.register(registry), 'kubernetes')
    count('certificate')
    const text = await registry.metrics()
    expect(text).toContain('matte_dependency_errors_total{dependency="kubernetes",reason="certificate"} 1')
    expect(text.match(/^matte_dependency_errors_total\{.*\} 0$/gm)).toHaveLength(24)
  })
})
