import { describe, expect, it } from 'vitest'
import type { RolloutStatus } from '../pool/pool-status.ts'
import { type BuildRecord, builderVersion } from './build-record.ts'
import { chooseTarget, type KnownRevision } from './choose-target.ts'

const now = 'inputs-now'
const before = 'inputs-before'
const [first, second] = ['2026-11-23T12:00:00Z', '2026-11-24T12:00:00Z']

const made = (revision: string, builder: number, more: Partial<BuildRecord> = {}): KnownRevision => ({
  revision,
  hasDeployment: true,
  built: { builder, inputs: now, ...more },
})
const bare = (revision: string): KnownRevision => ({ revision, hasDeployment: true, built: undefined })
const gone = (known: KnownRevision): KnownRevision => ({ ...known, hasDeployment: false })

const serves = { stable: 'old', weight: 0, step: -1, since: first }
const tries = { ...serves, canary: 'new' }
const failed = { revision: 'bad', reason: 'CanaryErrorRate', message: 'no', time: first } as const
const none = {} as Partial<RolloutStatus>

type Input = Parameters<typeof chooseTarget>[0]
const choose = (input: Partial<Input>) =>
  chooseTarget({
    inputs: now,
    today: 'today',
    rebuild: undefined,
    known: [],
    rollout: serves,
    isSpecSeen: true,
    isRetried: false,
    ...input,
  })

describe('the revision that a pool asks for', () => {
  it.each<[string, string, Partial<Input>]>([
    ['a new pool: today’s build', 'today', { rollout: undefined, isSpecSeen: false }],
    ['an unchanged spec with a newer builder: the stable one', 'old', { known: [made('old', 1)] }],
    ['an unchanged spec with an older builder: the stable one', 'old', { known: [made('old', 9)] }],
    ['a changed spec: today’s build', 'today', { known: [made('old', 1, { inputs: before })], isSpecSeen: false }],
    [
      'a changed spec that status has observed: today’s build',
      'today',
      { known: [made('old', 1, { inputs: before })] },
    ],
    [
      'a canary of an older operator: the canary',
      'new',
      { known: [made('old', 1, { inputs: before }), made('new', 1)], rollout: tries },
    ],
    [
      'a spec that is reverted during a rollout: the stable one',
      'old',
      { known: [made('old', 1), made('new', 2, { inputs: before })], rollout: tries, isSpecSeen: false },
    ],
    [
      'a lost status: the one built from spec',
      'old',
      { known: [made('old', 1), made('other', 1, { inputs: before })], rollout: none, isSpecSeen: false },
    ],
    ['a deleted Deployment of an older builder: today’s build', 'today', { known: [gone(made('old', 1))] }],
    ['a deleted Deployment of this builder: the same', 'today', { known: [gone(made('today', 2))] }],
    [
      'a rolled-back revision: it is not retried',
      'bad',
      { known: [made('old', 1, { inputs: before }), gone(made('bad', 1))], rollout: { ...serves, failed } },
    ],
    [
      'a rolled-back revision with a retry: today’s build',
      'today',
      {
        known: [made('old', 1, { inputs: before }), gone(made('bad', 1))],
        rollout: { ...serves, failed },
        isRetried: true,
      },
    ],
  ])('is, of %s', (_what, revision, input) => {
    expect(choose(input).revision).toBe(revision)
  })

  it('records today’s build with the builder’s version', () => {
    expect(choose({ rebuild: first }).built).toEqual({ builder: builderVersion, inputs: now, rebuild: first })
  })
})

describe('a rebuild', () => {
  it.each<[string, string, Partial<Input>]>([
    ['asks for today’s build', 'today', { known: [made('old', 1)], rebuild: first }],
    [
      'keeps its revision',
      'new',
      { known: [made('old', 1), made('new', 2, { rebuild: first })], rollout: tries, rebuild: first },
    ],
    ['is requested again by another time', 'today', { known: [made('old', 2, { rebuild: first })], rebuild: second }],
    ['does not act after its promotion', 'old', { known: [made('old', 2, { rebuild: first })], rebuild: first }],
    [
      'stays when its annotation is removed after the promotion',
      'old',
      { known: [made('old', 2, { rebuild: first })] },
    ],
    [
      'is withdrawn when its annotation is removed before the promotion',
      'old',
      { known: [made('new', 2, { rebuild: first }), made('old', 1)], rollout: tries },
    ],
    [
      'is not retried after its rollback',
      'bad',
      {
        known: [made('old', 1), gone(made('bad', 2, { rebuild: first }))],
        rollout: { ...serves, failed },
        rebuild: first,
      },
    ],
    ['is not prevented by an adoption', 'today', { known: [bare('old')], rebuild: first }],
  ])('%s', (_what, revision, input) => {
    expect(choose(input).revision).toBe(revision)
  })
})

describe('a Deployment without recorded inputs', () => {
  it.each<[string, string, Partial<Input>]>([
    ['is adopted if status was computed from the spec', 'old', { known: [bare('old')] }],
    ['is adopted as the rolled-back revision', 'bad', { known: [bare('old')], rollout: { ...serves, failed } }],
    ['is not adopted if the spec has changed since', 'today', { known: [bare('old')], isSpecSeen: false }],
    ['is not adopted if the status was lost', 'today', { known: [bare('old')], rollout: none, isSpecSeen: false }],
    [
      'is not adopted during a rollout, which may be a rollback for a third spec',
      'today',
      { known: [bare('old'), bare('new')], rollout: tries },
    ],
    ['is not adopted if it is gone', 'today', { known: [] }],
    [
      'is not adopted instead of one that recorded other inputs',
      'today',
      { known: [bare('former'), made('old', 2, { inputs: before })] },
    ],
  ])('%s', (_what, revision, input) => {
    expect(choose(input).revision).toBe(revision)
  })

  it('counts as made by the first builder', () => {
    expect(choose({ known: [bare('old')] }).built).toEqual({ builder: 1, inputs: now })
  })
})
