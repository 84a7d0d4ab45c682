import { describe, expect, it } from 'vitest'
import { checkTargetUrl, type TargetPolicy } from './target-url.ts'

const nobody: TargetPolicy = { allowedTargets: [], deniedNetworks: [] }

const judge = (text: string, policy = nobody) => {
  const verdict = checkTargetUrl(text, policy)
  return 'refusal' in verdict ? verdict.refusal : 'accepted'
}

describe('checkTargetUrl', () => {
  it.each([
    'https://example.com/hook?x=1#y',
    'http://example.com',
    'http://example.com:8080/',
    'http:example.com',
    'https://93.184.215.14/',
    'https://[2606:4700:4700::1111]:8443/',
    'https://[64:ff9b::5db8:d70e]/',
    'https://localhost.example.com/',
    'https://notlocalhost/',
  ])('accepts %s', (text) => {
    expect(judge(text)).toBe('accepted')
  })

  // The URL parser turns each of these into an address that is not public, or rejects it.
  it.each([
    ...['127.1', '0', '2130706433', '0x7f000001', '0177.0.0.1', '017700000001', '0x7f.1', '127.0.0.1.'],
    ...['2852039166', '%31%32%37.0.0.1', '１２７.０.０.１', '①②⑦.⓪.⓪.①', '127。0。0。1', '127｡0｡0｡1', '127.0.\t0.1'],
    ...['[::]', '[::1]', '[::ffff:169.254.169.254]', '[64:ff9b::127.0.0.1]', '10.0.0.8', '168.63.129.16'],
    ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'a.localhost.'],
    ...['example.com@127.0.0.1', '127.0.0.1#@example.com', '127.0.0.1\\@example.com'],
  ])('rejects http://%s/', (host) => {
    expect(judge(`http://${host}/`)).toMatch(/public internet address|user name/)
  })

  it('rejects an address written without slashes', () => {
    expect(judge('http:127.0.0.1')).toMatch(/public internet address/)
  })

  it.each(['4294967297', '425510585409', '[fe80::1%25eth0]'])('finds no URL in http://%s/', (host) => {
    expect(judge(`http://${host}/`)).toMatch(/absolute URL/)
  })

  it.each(['', '/hook', 'example.com/hook', 'https://'])('finds no absolute URL in %j', (text) => {
    expect(judge(text)).toMatch(/absolute URL/)
  })

  it.each([
    ...['file:///etc/passwd', 'gopher://example.com/', 'dict://example.com/', 'ftp://example.com/'],
    ...['ldap://example.com/', 'jar:http://example.com!/', 'data:text/plain,x', 'javascript:alert(1)', 'ws://a.b/'],
  ])('rejects the scheme of %s', (text) => {
    expect(judge(text)).toMatch(/http:\/\/ or https:\/\//)
  })

  it.each(['http://user@example.com/', 'http://:secret@example.com/', 'https://example.com@example.org/'])(
    'rejects the credentials of %s',
    (text) => {
      expect(judge(text)).toMatch(/user name or password/)
    },
  )

  it.each([
    ...[22, 23, 25, 53, 111, 135, 139, 445, 2375, 2376, 2377, 2378, 2379, 2380, 3306, 5432, 6379, 6443, 9200, 10250],
    ...[11211, 27017],
  ])('rejects port %i', (port) => {
    expect(judge(`https://example.com:${port}/`)).toBe(`must not use port ${port}`)
  })

  it('rejects a URL that is too long', () => {
    expect(judge(`https://example.com/${'a'.repeat(2_029)}`)).toMatch(/2048/)
    expect(judge(`https://example.com/${'a'.repeat(2_028)}`)).toBe('accepted')
  })

  it("rejects the operator's denied networks", () => {
    const policy = { allowedTargets: [], deniedNetworks: ['93.184.0.0/16'] }
    expect(judge('https://93.184.215.14/', policy)).toMatch(/public internet address/)
  })
})

describe('checkTargetUrl with allowed targets', () => {
  it.each([
    ['http://127.0.0.1:9000/hook', '127.0.0.1:9000', true],
    ['http://127.0.0.1:9001/hook', '127.0.0.1:9000', false],
    ['http://127.0.0.1:9001/hook', '127.0.0.1:*', true],
    ['http://2130706433:9001/hook', '127.0.0.1:*', true],
    ['http://127.0.0.2:9001/hook', '127.0.0.1:*', false],
    ['http://[::1]:9000/', '[::1]:9000', true],
    ['http://localhost:9000/', 'LocalHost:9000', true],
    ['http://localhost/', 'localhost:80', true],
    ['https://receiver.internal:22/', 'receiver.internal:22', true],
    ['https://receiver.internal.evil.com:22/', 'receiver.internal:22', false],
    ['http://127.0.0.1:6379/', '127.0.0.1:*', false],
    ['http://127.0.0.1:6379/', '127.0.0.1:6379', true],
    ['http://user@127.0.0.1:9000/', '127.0.0.1:9000', false],
    ['ftp://127.0.0.1:9000/', '127.0.0.1:9000', false],
  ])('%s with %s is accepted: %s', (text, allowed, accepted) => {
    const verdict = judge(text, { allowedTargets: ['x:1', allowed], deniedNetworks: [] })
    expect(verdict === 'accepted').toBe(accepted)
  })
})
