import { describe, expect, it } from 'vitest'
import { createStore } from './object-store.ts'
import type { KubeObject } from './objects.ts'

const object = (name: string, resourceVersion: string, uid = 'a'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, resourceVersion, uid },
})

function given(...objects: KubeObject[]) {
  const changes: string[] = []
  const store = createStore((name, now) => {
    changes.push(`${name} ${now?.metadata.resourceVersion ?? 'gone'}`)
  })
  store.replace(objects)
  changes.length = 0
  return { store, changes }
}

describe('the store of a reflector', () => {
  it('notifies of each change once', () => {
    const { store, changes } = given(object('one', '1'))
    store.set(object('one', '1'))
    store.set(object('one', '2'))
    store.set(object('one', '2', 'made again'))
    store.remove('one')
    store.remove('one')
    expect(changes).toEqual(['one 2', 'one 2', 'one gone'])
  })

  it('takes over a list and notifies only of differences', () => {
    const { store, changes } = given(object('same', '1'), object('changed', '1'), object('gone', '1'))
    store.replace([object('same', '1'), object('changed', '2'), object('new', '3')])
    expect(changes).toEqual(['gone gone', 'changed 2', 'new 3'])
    expect(store.items().map(({ metadata }) => metadata.name)).toEqual(['same', 'changed', 'new'])
  })

  it('finds differences to a list without taking it over', () => {
    const { store, changes } = given(object('same', '1'), object('changed', '1'), object('gone', '1'))
    const list = [object('same', '1'), object('changed', '2'), object('new', '3')]
    expect(store.differences(list).sort()).toEqual(['changed', 'gone', 'new'])
    expect(store.get('changed')?.metadata.resourceVersion).toBe('1')
    expect(changes).toEqual([])
  })

  it('returns the same array until an object changes', () => {
    const { store } = given(object('one', '1'))
    const items = store.items()
    expect(store.items()).toBe(items)
    store.set(object('two', '1'))
    expect(items).toHaveLength(1)
    expect(store.items()).toHaveLength(2)
  })

  it('drops managedFields', () => {
    const { store } = given()
    const sent = object('one', '1')
    Object.assign(sent.metadata, { managedFields: [{ manager: 'kubectl' }] })
    store.set(sent)
    expect(store.get('one')?.metadata).toEqual({ name: 'one', resourceVersion: '1', uid: 'a' })
  })
})
