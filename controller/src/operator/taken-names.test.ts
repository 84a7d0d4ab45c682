import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import type { Note } from './kube/events.ts'
import { type TritonPool, withDefaults } from './pool/triton-pool.ts'
import { reportTakenName } from './pool-names.ts'

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
  /** Kind and name of an object that refuses the fencing token. */
  readonly refused?: string
}

/** Writes for pool hd of namespace `team`; `owner` has its name. */
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
  it('reports the owner and what to do, in its namespace and over the version that was read', async () => {
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
    expect(condition?.message).toContain('The older pool of namespace home has the name hd')
    expect(notes.map(({ reason }) => reason)).toEqual(['NameTaken'])
  })

  it('gets its conditions once', async () => {
    const { written } = await report({ owner: poolOf('home') })
    const status = written[0]?.pool.status
    if (status === undefined) throw new Error('nothing was written')
    expect((await report({ owner: poolOf('home'), status })).written).toEqual([])
    expect((await report({ status })).written).toEqual([])
    expect((await report({ owner: poolOf('third'), status })).written).toHaveLength(1)
  })

  it('gets them again over conditions from when it was operated, or of an older controller', async () => {
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

  it('gets them although a Deployment refuses the fencing token', async () => {
    expect((await report({ owner: poolOf('home'), refused: 'Deployment hd-1' })).written).toHaveLength(1)
  })

  it.each<[string, Given]>([
    ['from a replica that does not lead its namespace', { owner: poolOf('home'), leads: false }],
    ['if its status refuses the fencing token', { owner: poolOf('home'), refused: 'TritonPool hd' }],
    ['if it has the name now', { owner: poolOf('team') }],
  ])('gets none %s', async (_what, state) => {
    const { written, notes } = await report(state)
    expect([...written, ...notes]).toEqual([])
  })
})
