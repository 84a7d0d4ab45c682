import { modelIndex } from '@matte/controller/operator/reconcile/observe/model-index'
import { adminKey, readIndex } from '@matte/controller/worker/triton/repository-index'
import { loadTriton } from '@matte/controller/worker/triton/triton-protocol'
import { pino } from 'pino'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { type Fake, type FakeOptions, startFake } from '../support/fake-triton.ts'
import { until } from '../support/until.ts'

const Stub = loadTriton()
const logger = pino({ level: 'silent' })

describe('the repository index of a pod', () => {
  const running: Fake[] = []
  afterEach(() => Promise.all(running.splice(0).map((one) => one.kill())))
  const given = async (options: FakeOptions): Promise<Fake> => {
    const one = await startFake(options)
    running.push(one)
    return one
  }

  it('reports a ready model', async () => {
    const index = await readIndex(Stub, { address: inject('tritonAddress'), poolUid: 'any' })
    expect(index).toMatchObject({ kind: 'index', models: [{ name: 'u2netp', state: 'READY' }] })
  })

  it('reports why a model does not load, with the key of the pool', async () => {
    const { address } = await given({
      models: [{ name: 'u2netp' }, { name: 'broken', failure: 'bad file' }],
      adminHeader: { name: adminKey, value: 'uid' },
    })
    expect(await readIndex(Stub, { address, poolUid: 'uid' })).toMatchObject({
      kind: 'index',
      models: [
        { name: 'u2netp', state: 'READY' },
        { name: 'broken', state: 'UNAVAILABLE', reason: expect.stringContaining('bad file') },
      ],
    })
    expect(await readIndex(Stub, { address, poolUid: 'another' })).toEqual({ kind: 'silent' })
  })

  it('is silent while the pod does not respond', async () => {
    const { address, kill } = await startFake()
    await kill()
    expect(await readIndex(Stub, { address, poolUid: 'uid' })).toEqual({ kind: 'silent' })
  })

  it('is read in the background, reported once, and forgotten with the pod', async () => {
    const { address } = await given({ models: [{ name: 'broken', failure: 'bad file' }] })
    const notified: string[] = []
    const index = modelIndex({ Stub, logger, changed: (pool) => notified.push(pool) })
    const pod = { uid: 'a', pool: 'p', address, poolUid: 'uid' }
    index.ask('p', [pod])
    expect(index.of('a')).toBeUndefined()
    await until('the answer is there', () => index.of('a')?.kind === 'index')
    index.ask('p', [pod])
    expect(notified).toEqual(['p'])
    index.ask('p', [])
    expect(index.of('a')).toBeUndefined()
    index.close()
  })
})
