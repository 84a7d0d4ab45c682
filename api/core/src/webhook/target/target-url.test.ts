import { describe, expect, it } from 'vitest'
import { checkTargetUrl, type TargetPolicy } from './target-url.ts'

const nobody: TargetPolicy = { allowedTargets: [], deniedNetworks: [] }
const publicly = async () => ['93.184.215.14', '2606:4700:4700::1111']

const judge = async (text: string, { policy = nobody, resolve = publicly as () => Promise<string[]> } = {}) => {
  const verdict = await checkTargetUrl(text, policy, resolve)
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
  ])('accepts %s', async (text) => {
    expect(await judge(text)).toBe('accepted')
  })

  // The URL parser turns each of these into an address that is not public, or rejects it.
  it.each([
    ...['127.1', '0', '2130706433', '0x7f000001', '0177.0.0.1', '017700000001', '0x7f.1', '127.0.0.1.'],
    ...['2852039166', '%31%32%37.0.0.1', '１２７.０.０.１', '①②⑦.⓪.⓪.①', '127。0。0。1', '127｡0｡0｡1', '127.0.\t0.1'],
    ...['[::]', '[::1]', '[::ffff:169.254.169.254]', '[64:ff9b::127.0.0.1]', '10.0.0.8', '168.63.129.16'],
    ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'a.localhost.'],
    ...['example.com@127.0.0.1', '127.0.0.1#@example.com', '127.0.0.1\\@example.com'],
  ])('rejects http://%s/', async (host) => {
    expect(await judge(`http://${host}/`)).toMatch(/public internet address|user name/)
  })

  it('rejects an address written without slashes', async () => {
    expect(await judge('http:127.0.0.1')).toMatch(/public internet address/)
  })

  it.each(['4294967297', '425510585409', '[fe80::1%25eth0]'])('finds no URL in http://%s/', async (host) => {
    expect(await judge(`http://${host}/`)).toMatch(/absolute URL/)
  })

  it.each(['', '/hook', 'example.com/hook', 'https://'])('finds no absolute URL in %j', async (text) => {
    expect(await judge(text)).toMatch(/absolute URL/)
  })

  it.each([
    ...['file:///etc/passwd', 'gopher://example.com/', 'dict://example.com/', 'ftp://example.com/'],
    ...['ldap://example.com/', 'jar:http://example.com!/', 'data:text/plain,x', 'javascript:alert(1)', 'ws://a.b/'],
  ])('rejects the scheme of %s', async (text) => {
    expect(await judge(text)).toMatch(/http:\/\/ or https:\/\//)
  })

  it.each(['http://user@example.com/', 'http://:secret@example.com/', 'https://example.com@example.org/'])(
    'rejects the credentials of %s',
    async (text) => {
      expect(await judge(text)).toMatch(/user name or password/)
    },
  )

  it.each([
    ...[22, 23, 25, 53, 111, 135, 139, 445, 2375, 2376, 2377, 2378, 2379, 2380, 3306, 5432, 6379, 6443, 9200, 10250],
    ...[11211, 27017],
  ])('rejects port %i', async (port) => {
    expect(await judge(`https://example.com:${port}/`)).toBe(`must not use port ${port}`)
  })

  it('rejects a URL that is too long', async () => {
    expect(await judge(`https://example.com/${'a'.repeat(2_029)}`)).toMatch(/2048/)
    expect(await judge(`https://example.com/${'a'.repeat(2_028)}`)).toBe('accepted')
  })

  it.each([
    [['10.0.0.1']],
    [['93.184.215.14', '127.0.0.1']],
    [['93.184.215.14', '::1']],
    [['169.254.169.254', '2606:4700:4700::1111']],
    [['::ffff:93.184.215.14']],
  ])('rejects a name that resolves to %j', async (answers) => {
    expect(await judge('https://example.com/', { resolve: async () => answers })).toMatch(/public internet address/)
  })

  it('rejects a name with the same message as an address, which reveals nothing about the resolver', async () => {
    const byName = await judge('https://example.com/', { resolve: async () => ['10.0.0.1'] })
    expect(byName).toBe(await judge('https://10.0.0.1/'))
  })

  it('accepts a name that does not resolve: delivery decides', async () => {
    const resolve = () => Promise.reject(new Error('queryA ETIMEOUT example.com'))
    expect(await judge('https://example.com/', { resolve })).toBe('accepted')
  })

  it("rejects the operator's denied networks", async () => {
    const policy = { allowedTargets: [], deniedNetworks: ['93.184.0.0/16'] }
    expect(await judge('https://example.com/', { policy })).toMatch(/public internet address/)
    expect(await judge('https://93.184.215.14/', { policy })).toMatch(/public internet address/)
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
    ['https://receiver.internal/', 'receiver.internal:443', true],
    ['https://receiver.internal.evil.com/', 'receiver.internal:443', false],
    ['http://127.0.0.1:6379/', '127.0.0.1:*', false],
    ['http://127.0.0.1:6379/', '127.0.0.1:6379', true],
    ['http://user@127.0.0.1:9000/', '127.0.0.1:9000', false],
    ['ftp://127.0.0.1:9000/', '127.0.0.1:9000', false],
  ])('%s with %s is accepted: %s', async (text, allowed, accepted) => {
    const resolve = async () => ['10.0.0.1']
    const verdict = await judge(text, { policy: { allowedTargets: ['x:1', allowed], deniedNetworks: [] }, resolve })
    expect(verdict === 'accepted').toBe(accepted)
  })
})
