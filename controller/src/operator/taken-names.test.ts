import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import type { Note } from './kube/events.ts'
import { type TritonPool, withDefaults } from './pool/triton-pool.ts'
import { reportTakenName } from './taken-names.ts'

const poolOf = (namespace: string, status?: TritonPool['status']): TritonPool => ({
  apiVersion: 'matte.dev/v1alpha1',
  kind: 'TritonPool',
  metadata: { name: 'hd', namespace, uid: namespace, resourceVersion: '7', generation: 2 },
  spec: withDefaults({ models: [{ name: 'u2netp', modelVersion: 'hd', source: { imagePath: '/models' } }] }),
  ...(status && { status }),
})

type Given = {
  readonly owner?: TritonPool
  readonly leads?: boolean
  readonly status?: TritonPool['status']
  /** Kind and name of the object that refuses the leader's fencing token. */
  readonly refused?: string
}

/** Writes about the pool hd of namespace `team`, whose name `owner` has. */
async function report({ owner, leads = true, status, refused }: Given) {
  const written: { namespace: string; pool: TritonPool }[] = []
  const notes: Note[] = []
  const clientOf = (namespace: string) => ({
    namespace,
    in: clientOf,
    apply: async (_: unknown, pool: TritonPool) => void written.push({ namespace, pool }),
  })
  await reportTakenName(
    {
      kube: clientOf('home'),
      leadership: { confirm: async () => undefined },
      pools: { get: () => poolOf('team', status) },
      named: { get: () => owner },
      terms: {
        of: () => (leads ? { count: 4, lease: 'lease' } : undefined),
        refusedOf: () => (refused === undefined ? [] : [{ object: refused }]),
      },
      events: { record: (_: unknown, note: Note) => void notes.push(note) },
      logger: pino({ level: 'silent' }),
    } as unknown as Parameters<typeof reportTakenName>[0],
    'team/hd',
  )
  return { written, notes }
}

describe('a pool whose name is taken', () => {
  it('says whose, and what to do, in its own namespace and against the version that was read', async () => {
    const { written, notes } = await report({ owner: poolOf('home') })
    expect(written).toMatchObject([
      {
        namespace: 'team',
        pool: {
          metadata: { name: 'hd', uid: 'team', resourceVersion: '7' },
          status: {
            observedGeneration: 2,
            leaderTerm: 4,
            conditions: [
              { type: 'Ready', status: 'False', reason: 'NameTaken' },
              { type: 'Reconciling', status: 'False', reason: 'NameTaken' },
              { type: 'Stalled', status: 'True', reason: 'NameTaken' },
            ],
          },
        },
      },
    ])
    const [condition] = written[0]?.pool.status?.conditions ?? []
    expect(condition).toMatchObject({ reason: 'NameTaken', observedGeneration: 2 })
    expect(condition?.message).toContain('the older pool of namespace home has the name hd')
    expect(notes.map(({ reason }) => reason)).toEqual(['NameTaken'])
  })

  it('is written once', async () => {
    const { written } = await report({ owner: poolOf('home') })
    const status = written[0]?.pool.status
    if (status === undefined) throw new Error('nothing was written')
    expect((await report({ owner: poolOf('home'), status })).written).toEqual([])
    expect((await report({ status })).written).toEqual([])
    expect((await report({ owner: poolOf('third'), status })).written).toHaveLength(1)
  })

  it('is written again over the conditions of a pool that was operated, or of an older controller', async () => {
    const { written } = await report({ owner: poolOf('home') })
    const conditions = written[0]?.pool.status?.conditions ?? []
    const [ready] = conditions
    if (ready === undefined) throw new Error('nothing was written')
    const older = await report({ owner: poolOf('home'), status: { conditions: [ready] } })
    expect(older.written[0]?.pool.status?.conditions).toEqual(conditions)
    const degraded = { ...ready, type: 'Degraded' } as const
    const operated = await report({ owner: poolOf('home'), status: { conditions: [degraded] } })
    expect(operated.written[0]?.pool.status?.conditions?.map(({ type }) => type)).not.toContain('Degraded')
  })

  it('is written to a pool with a Deployment that refuses the fencing token', async () => {
    expect((await report({ owner: poolOf('home'), refused: 'Deployment hd-1' })).written).toHaveLength(1)
  })

  it.each<[string, Given]>([
    ['by a replica that does not lead its namespace', { owner: poolOf('home'), leads: false }],
    ['when its status refuses the fencing token', { owner: poolOf('home'), refused: 'TritonPool hd' }],
    ['when the name is its own by now', { owner: poolOf('team') }],
  ])('is not written %s', async (_what, state) => {
    const { written, notes } = await report(state)
    expect([...written, ...notes]).toEqual([])
  })
})
