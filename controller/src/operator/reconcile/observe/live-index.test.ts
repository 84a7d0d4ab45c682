import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { liveIndex } from './live-index.ts'

function world() {
  const listeners: ((name: string, object: KubeObject | undefined) => void)[] = []
  const index = liveIndex<KubeObject>(
    { items: () => [], onChange: (listener) => void listeners.push(listener) },
    ({ metadata }) => metadata.labels?.pool,
  )
  const tell = (object: KubeObject): void => {
    for (const listener of listeners) listener(object.metadata.name, object)
  }
  const forget = (name: string): void => {
    for (const listener of listeners) listener(name, undefined)
  }
  return { index, tell, forget, versionOf: (name: string) => index.get(name)?.metadata.resourceVersion }
}

const made = (resourceVersion: string, pool = 'p', name = 'a', uid = 'u'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, uid, resourceVersion, labels: { pool } },
})

describe('liveIndex', () => {
  it('finds the objects of a pool, also when one moves or goes', () => {
    const { index, tell, forget } = world()
    tell(made('1'))
    tell(made('2', 'p', 'b'))
    expect(index.of('p')).toHaveLength(2)
    tell(made('3', 'q', 'b'))
    expect(index.of('p').map(({ metadata }) => metadata.name)).toEqual(['a'])
    forget('a')
    expect(index.of('p')).toEqual([])
    expect(index.of('q')).toHaveLength(1)
  })

  it('shows what was written before the watch tells of it', () => {
    const { index, tell, versionOf } = world()
    const [first, second, third] = [made('1'), made('2'), made('3')] as const
    tell(first)
    index.wrote(first, second)
    index.wrote(second, third)
    tell(second)
    expect(versionOf('a')).toBe('3')
    tell(third)
    tell(made('4'))
    expect(versionOf('a')).toBe('4')
  })

  it('shows what was made before the watch tells of it, and that it is gone when the watch says so', () => {
    const { index, tell, forget, versionOf } = world()
    index.wrote(undefined, made('5'))
    expect(index.of('p')).toHaveLength(1)
    tell(made('5'))
    forget('a')
    expect(versionOf('a')).toBeUndefined()
  })

  it('keeps what the watch told when it was faster than the answer', () => {
    const { index, tell, versionOf } = world()
    const first = made('1')
    tell(first)
    tell(made('3'))
    index.wrote(first, made('2'))
    expect(versionOf('a')).toBe('3')
  })

  it('goes on listening after a write that changed nothing', () => {
    const { index, tell, versionOf } = world()
    const first = made('1')
    tell(first)
    index.wrote(first, made('1'))
    tell(made('2'))
    expect(versionOf('a')).toBe('2')
  })
})
