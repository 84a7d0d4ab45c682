import { describe, expect, it } from 'vitest'
import type { ModelShape } from '../triton/model-shape.ts'
import type { TritonClient } from '../triton/triton-client.ts'
import {
  afterModelAnswer,
  afterProbeOf,
  afterRequest,
  beginsFailures,
  buildPods,
  isListedOtherwise,
  type Member,
  type MemberSpec,
  type ModelAnswer,
  mayUse,
  newMember,
  slotsOf,
  withSpec,
} from './pod-member.ts'

const shape: ModelShape = { inputSize: 320, slots: 4, views: 1 }
const client = {} as TritonClient
const model = (tritonModel: string) => ({ pool: 'standard', tritonModel, modelVersions: [tritonModel] })
const spec = (changes: Partial<MemberSpec> = {}): MemberSpec => ({
  name: 'a',
  address: 'a:8001',
  revision: 'a',
  role: 'stable',
  weight: 100,
  models: [model('u2netp')],
  accepts: true,
  ...changes,
})
const never = (): boolean => false

const joining = newMember(spec())
const known = afterModelAnswer(joining, 'u2netp', shape)
const serving = afterProbeOf(known, 0, true)
const ejected = afterRequest(serving, 'timeout', never)
const probation = afterProbeOf(ejected, ejected.epoch, true)

describe('probe result of a model', () => {
  it.each<[string, Member, ModelAnswer, Member]>([
    ['stores a shape', joining, shape, { ...joining, shapes: new Map([['u2netp', shape]]) }],
    ['ignores a model that is not ready yet', joining, 'unready', joining],
    ['changes nothing for a model that is still ready', known, 'ready', known],
    ['removes the shape of a model that is no longer ready', known, 'lost', { ...known, shapes: new Map() }],
    [
      'stores the error of an unusable model',
      joining,
      new Error('no'),
      { ...joining, errors: new Map([['u2netp', new Error('no')]]) },
    ],
    ['clears an error', { ...joining, errors: new Map([['u2netp', new Error('no')]]) }, shape, known],
  ])('%s', (_what, before, answer, after) => {
    expect(afterModelAnswer(before, 'u2netp', answer)).toEqual(after)
  })

  it.each<[ModelAnswer, boolean]>([
    [shape, true],
    ['ready', true],
    ['unready', false],
    ['lost', false],
    [new Error('no'), false],
  ])('%s: may be used %s', (answer, expected) => {
    expect(mayUse(answer)).toBe(expected)
  })
})

describe('the epoch', () => {
  it('increases when the pod is ejected, so an older probe is ignored', () => {
    expect([serving.epoch, ejected.epoch, probation.epoch]).toEqual([0, 1, 1])
    expect(afterProbeOf(ejected, serving.epoch, true)).toBe(ejected)
  })

  it('increases when the pod accepts again, and the pod is probed before use', () => {
    const leaving = withSpec(serving, spec({ accepts: false }))
    expect(leaving).toMatchObject({ epoch: 0, standing: { state: 'serving' } })
    expect(withSpec(leaving, spec())).toMatchObject({ epoch: 1, standing: { state: 'joining', misses: 0 } })
  })
})

describe('the end of a request', () => {
  it('does not change a healthy pod', () => {
    expect(afterRequest(serving, 'ok', never)).toBe(serving)
  })

  it('starts a series of failures with the first one only', () => {
    const failing = afterRequest(serving, 'failed', never)
    expect([beginsFailures(serving, 'failed'), beginsFailures(failing, 'failed')]).toEqual([true, false])
    expect([beginsFailures(serving, 'timeout'), beginsFailures(ejected, 'failed')]).toEqual([false, false])
  })
})

describe('the list of pods', () => {
  const failing = afterRequest(serving, 'failed', never)
  it.each<[string, Member, Member, boolean]>([
    ['when a shape is known', joining, known, true],
    ['when the pod is used', known, serving, true],
    ['when it is ejected', serving, ejected, true],
    ['when it is back on probation', ejected, probation, true],
    ['when its spec changes', serving, withSpec(serving, spec({ weight: 5 })), true],
    ['not when a request failed', serving, failing, false],
    ['not when a probe found nothing', joining, afterProbeOf(joining, 0, false), false],
    ['not when a probe found what was known', serving, afterProbeOf(serving, 0, true), false],
  ])('is rebuilt %s', (_when, before, after, expected) => {
    expect(isListedOtherwise(before, after)).toBe(expected)
  })

  it.each<[string, Member, number]>([
    ['its own', serving, 4],
    ['at most those that its pool allows', withSpec(serving, spec({ slotsMax: 3 })), 3],
    ['and what it may queue', withSpec(serving, spec({ slotsMax: 3, queued: 1 })), 4],
    ['one on probation', probation, 1],
  ])('gives it slots: %s', (_what, member, slots) => {
    expect(slotsOf(member)).toBe(slots)
    expect(buildPods(member, client)).toMatchObject([{ podSlots: slots, onProbation: member === probation }])
  })

  it('has each ready model of a usable pod, and none of an unusable one', () => {
    const both = withSpec(serving, spec({ models: [model('u2netp'), model('isnet')] }))
    expect(buildPods(both, client)).toHaveLength(1)
    const ready = afterModelAnswer(both, 'isnet', { inputSize: 512, slots: 1, views: 1 })
    expect(buildPods(ready, client).map(({ tritonModel, shape: { slots } }) => [tritonModel, slots])).toEqual([
      ['u2netp', 4],
      ['isnet', 1],
    ])
    for (const unused of [joining, known, ejected, withSpec(ready, spec({ accepts: false }))]) {
      expect(buildPods(unused, client)).toEqual([])
    }
  })

  it('forgets models that the pod no longer serves', () => {
    const wrong = afterModelAnswer(serving, 'u2netp', new Error('no'))
    expect(withSpec(wrong, spec({ models: [model('isnet')] }))).toMatchObject({ shapes: new Map(), errors: new Map() })
    expect(withSpec(wrong, spec({ weight: 5 })).shapes).toBe(wrong.shapes)
  })
})
