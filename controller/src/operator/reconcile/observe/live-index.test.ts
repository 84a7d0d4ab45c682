import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { liveIndex } from './live-index.ts'

function world() {
  const listeners: ((name: string, object: KubeObject | undefined) => void)[] = []
  const forgotten: string[] = []
  const forget = (name: string): void => {
    for (const listener of listeners) listener(name, undefined)
  }
  const index = liveIndex<KubeObject>(
    {
      items: () => [],
      onChange: (listener) => void listeners.push(listener),
      forget: ({ metadata }) => void forgotten.push(metadata.name),
    },
    ({ metadata }) => metadata.labels?.pool,
  )
  const report = (object: KubeObject): void => {
    for (const listener of listeners) listener(object.metadata.name, object)
  }
  return { index, report, forget, forgotten, versionOf: (name: string) => index.get(name)?.metadata.resourceVersion }
}

const made = (resourceVersion: string, pool = 'p', name = 'a', uid = 'u'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, uid, resourceVersion, labels: { pool } },
})

describe('liveIndex', () => {
  it('finds the objects of a pool after one moves or is deleted', () => {
    const { index, report, forget } = world()
    report(made('1'))
    report(made('2', 'p', 'b'))
    expect(index.of('p')).toHaveLength(2)
    report(made('3', 'q', 'b'))
    expect(index.of('p').map(({ metadata }) => metadata.name)).toEqual(['a'])
    forget('a')
    expect(index.of('p')).toEqual([])
    expect(index.of('q')).toHaveLength(1)
  })

  it('has own writes before the watch reports them', () => {
    const { index, report, versionOf } = world()
    const [first, second, third] = [made('1'), made('2'), made('3')] as const
    report(first)
    index.recordWrite(first, second)
    index.recordWrite(second, third)
    report(second)
    expect(versionOf('a')).toBe('3')
    report(third)
    report(made('4'))
    expect(versionOf('a')).toBe('4')
  })

  it('has a created object before the watch reports it, until the watch reports its deletion', () => {
    const { index, report, forget, versionOf } = world()
    index.recordWrite(undefined, made('5'))
    expect(index.of('p')).toHaveLength(1)
    report(made('5'))
    forget('a')
    expect(versionOf('a')).toBeUndefined()
  })

  it('keeps the watch’s version if it arrived before the response', () => {
    const { index, report, versionOf } = world()
    const first = made('1')
    report(first)
    report(made('3'))
    index.recordWrite(first, made('2'))
    expect(versionOf('a')).toBe('3')
  })

  it('recognizes an adapted copy of an object by its version', () => {
    const { index, report, versionOf } = world()
    report(made('1'))
    index.recordWrite({ ...made('1') }, made('2'))
    expect(versionOf('a')).toBe('2')
    report(made('1'))
    expect(versionOf('a')).toBe('2')
  })

  it('drops an object that is gone, in the reflector too', () => {
    const { index, report, forgotten, versionOf } = world()
    report(made('1'))
    index.recordGone(made('1'))
    expect(index.of('p')).toEqual([])
    expect(forgotten).toEqual(['a'])
    report(made('5', 'p', 'a', 'new'))
    expect(versionOf('a')).toBe('5')
  })

  it('keeps a recreated object', () => {
    const { index, report, versionOf } = world()
    report(made('5', 'p', 'a', 'new'))
    index.recordGone(made('1'))
    expect(versionOf('a')).toBe('5')
  })

  it('still follows the watch after a write without a change', () => {
    const { index, report, versionOf } = world()
    const first = made('1')
    report(first)
    index.recordWrite(first, made('1'))
    report(made('2'))
    expect(versionOf('a')).toBe('2')
  })
})
