import { describe, expect, it } from 'vitest'
import { type KubeClient, type ListOptions, type ListPage, listAll, pods } from './client.ts'
import { KubeError } from './http/kube-error.ts'

/** An API server with seven pods; the continue tokens of its first `forgets` lists expire. */
function given({ forgets = 0 } = {}) {
  const asked: ListOptions[] = []
  let lists = 0
  const list = async (_: unknown, { limit, continue: from, ...rest }: ListOptions): Promise<ListPage<unknown>> => {
    asked.push({ ...rest, ...(limit !== undefined && { limit }), ...(from !== undefined && { continue: from }) })
    if (from === undefined) lists += 1
    else if (lists <= forgets) throw new KubeError(410, 'Expired', 'the continue token is too old')
    const begin = Number(from ?? 0)
    const end = Math.min(7, begin + (limit ?? 7))
    const items = Array.from({ length: end - begin }, (_item, n) => ({ metadata: { name: `pod-${begin + n}` } }))
    return { items, resourceVersion: `version-${lists}`, ...(end < 7 && { continue: String(end) }) }
  }
  const kube = { list } as unknown as KubeClient
  const { signal } = new AbortController()
  const run = () => listAll(kube, pods, { labelSelector: 'a=b', pageSize: 3, signal })
  return { run, asked }
}

describe('listAll', () => {
  it('joins the pages of one list', async () => {
    const { run, asked } = given()
    const { items, resourceVersion } = await run()
    expect(items.map(({ metadata }) => metadata.name)).toEqual([0, 1, 2, 3, 4, 5, 6].map((n) => `pod-${n}`))
    expect(resourceVersion).toBe('version-1')
    expect(asked).toMatchObject([
      { labelSelector: 'a=b', limit: 3 },
      { limit: 3, continue: '3' },
      { limit: 3, continue: '6' },
    ])
  })

  it('restarts when the continue token expires, and finally lists without pages', async () => {
    const { run, asked } = given({ forgets: 2 })
    const { items, resourceVersion } = await run()
    expect(items).toHaveLength(7)
    expect(resourceVersion).toBe('version-3')
    expect(asked.at(-1)).not.toHaveProperty('limit')
  })
})
