import { describe, expect, it } from 'vitest'
import { addressesIn, candidatesOf, searchRulesOf } from './system-files.ts'

describe('a hosts file', () => {
  const hosts = `127.0.0.1 localhost # here
::1	localhost ip6-localhost
10.0.0.7  Store.example  store
# 10.0.0.8 store
not-an-address store`

  it.each([
    ['store', ['10.0.0.7']],
    ['store.example', ['10.0.0.7']],
    ['localhost', ['127.0.0.1', '::1']],
    ['here', []],
    ['example', []],
  ])('names %s as %s', (name, addresses) => {
    expect(addressesIn(hosts, name)).toEqual(addresses)
  })
})

describe('a resolv.conf', () => {
  const pod = `nameserver 10.96.0.10
search matte.svc.cluster.local svc.cluster.local. cluster.local
options ndots:5 timeout:2
`

  it('of a pod completes short names first, and asks for the name as it is last', () => {
    expect(candidatesOf('postgres', searchRulesOf(pod))).toEqual([
      'postgres.matte.svc.cluster.local',
      'postgres.svc.cluster.local',
      'postgres.cluster.local',
      'postgres',
    ])
  })

  it('leaves a name with a dot at its end alone, and asks for one with enough dots as it is first', () => {
    expect(candidatesOf('postgres.', searchRulesOf(pod))).toEqual(['postgres.'])
    expect(candidatesOf('a.b.c.d.e.f', searchRulesOf(pod))[0]).toBe('a.b.c.d.e.f')
  })

  it('has no completions and one dot unless it says otherwise; the last list counts', () => {
    expect(searchRulesOf('nameserver 1.1.1.1')).toEqual({ domains: [], ndots: 1 })
    expect(searchRulesOf('search a b\ndomain c ; old\noptions rotate')).toEqual({ domains: ['c'], ndots: 1 })
    expect(searchRulesOf('options ndots:99').ndots).toBe(15)
  })
})
