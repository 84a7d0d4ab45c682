import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { findMissingImages, type Pod, rejectOnMissingImage } from './missing-images.ts'

type Options = {
  readonly name: string
  readonly labels: Record<string, string>
  readonly image?: string
  readonly reason?: string
}

const pod = ({ name, labels, image = triton, reason }: Options): Pod => ({
  metadata: { name, labels },
  status: { containerStatuses: [{ image, state: reason ? { waiting: { reason } } : {} }] },
})
const ofRelease = { 'app.kubernetes.io/instance': 'matte' }
const triton = 'localhost/matte/triton:0.2.0'

describe('findMissingImages', () => {
  it('names the pod, its image and the command that loads it', () => {
    const pods = [
      pod({ name: 'matte-api-1', labels: ofRelease, image: 'a', reason: 'ContainerCreating' }),
      pod({ name: 'demo-1', labels: { 'matte.dev/pool': 'demo' }, reason: 'ImagePullBackOff' }),
    ]
    expect(findMissingImages(pods, 'matte')).toEqual([
      `pod demo-1 cannot pull ${triton} (ImagePullBackOff). Load it on every node, for example by ` +
        `"kind load docker-image ${triton}", or push it and set image.registry.`,
    ])
  })

  it('suggests registry access if the image has a registry, and covers init containers', () => {
    const found = findMissingImages(
      [
        {
          metadata: { name: 'matte-postgresql-0', labels: ofRelease },
          status: {
            initContainerStatuses: [
              { image: 'docker.io/library/postgres:15', state: { waiting: { reason: 'ErrImageNeverPull' } } },
            ],
          },
        },
      ],
      'matte',
    )
    expect(found).toEqual([expect.stringContaining('give the nodes access to its registry')])
  })

  it('ignores pods of other releases, and pulls that may still succeed', () => {
    const pods = [
      pod({
        name: 'other-1',
        labels: { 'app.kubernetes.io/instance': 'other' },
        image: 'x',
        reason: 'ImagePullBackOff',
      }),
      pod({ name: 'matte-api-1', labels: ofRelease, image: 'x', reason: 'ErrImagePull' }),
      pod({ name: 'matte-api-2', labels: ofRelease, image: 'x' }),
    ]
    expect(findMissingImages(pods, 'matte')).toEqual([])
  })
})

describe('rejectOnMissingImage', () => {
  const ends: (() => void)[] = []
  afterEach(() => ends.splice(0).forEach((end) => void end()))

  /** Responds with each of `lists` in turn, then with the last one. */
  async function startApiServer(lists: readonly (readonly Pod[] | number)[]) {
    const asked: (string | undefined)[] = []
    const server = createServer((req, res) => {
      const list = lists[Math.min(asked.push(`${req.url} ${req.headers.authorization}`), lists.length) - 1]
      if (typeof list === 'number') res.writeHead(list).end()
      else res.end(JSON.stringify({ items: list }))
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    ends.push(
      () => void server.close(),
      () => void server.closeAllConnections(),
    )
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return { asked, cluster: { origin, namespace: 'here', token: 'secret\n', ca: undefined } }
  }

  function start(cluster: Parameters<typeof rejectOnMissingImage>[0], warn: (text: string) => void = () => {}) {
    const aborter = new AbortController()
    ends.push(() => void aborter.abort())
    const ended = rejectOnMissingImage(cluster, { release: 'matte', signal: aborter.signal, warn, pollMs: 1 })
    ended.catch(() => {})
    return ended
  }

  it('polls until a pull has failed', async () => {
    const { asked, cluster } = await startApiServer([
      [],
      [pod({ name: 'demo-1', labels: ofRelease, reason: 'ImagePullBackOff' })],
    ])
    await expect(start(cluster)).rejects.toThrow('pod demo-1 cannot pull')
    expect(asked).toEqual(Array(2).fill('/api/v1/namespaces/here/pods Bearer secret'))
  })

  it('warns if it cannot list pods, and does not fail', async () => {
    const { cluster } = await startApiServer([403])
    const warned = new Promise<string>((resolve) => void start(cluster, resolve))
    expect(await warned).toBe('cannot look for missing images: the API server answered 403')
  })
})
