import { describe, expect, it } from 'vitest'
import type { RolloutStatus } from '../pool/pool-status.ts'
import { type Built, builderVersion } from './built.ts'
import { chooseTarget, type KnownRevision } from './choose-target.ts'

const now = 'inputs-now'
const before = 'inputs-before'
const [first, second] = ['2026-11-23T12:00:00Z', '2026-11-24T12:00:00Z']

const made = (revision: string, builder: number, more: Partial<Built> = {}): KnownRevision => ({
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
    ['a new pool: today’s', 'today', { rollout: undefined, isSpecSeen: false }],
    ['an unchanged spec under a newer builder: the one that serves', 'old', { known: [made('old', 1)] }],
    ['an unchanged spec under an older builder: the one that serves', 'old', { known: [made('old', 9)] }],
    ['a changed spec: today’s', 'today', { known: [made('old', 1, { inputs: before })], isSpecSeen: false }],
    ['a changed spec that status has seen already: today’s', 'today', { known: [made('old', 1, { inputs: before })] }],
    [
      'a canary of an older operator: it goes on',
      'new',
      { known: [made('old', 1, { inputs: before }), made('new', 1)], rollout: tries },
    ],
    [
      'a spec that went back in a rollout: the one that serves',
      'old',
      { known: [made('old', 1), made('new', 2, { inputs: before })], rollout: tries, isSpecSeen: false },
    ],
    [
      'a lost status: the one that was built from it',
      'old',
      { known: [made('old', 1), made('other', 1, { inputs: before })], rollout: none, isSpecSeen: false },
    ],
    ['a Deployment that was deleted, of an older builder: today’s', 'today', { known: [gone(made('old', 1))] }],
    ['a Deployment that was deleted, of this builder: the same', 'today', { known: [gone(made('today', 2))] }],
    [
      'what was rolled back: not tried again',
      'bad',
      { known: [made('old', 1, { inputs: before }), gone(made('bad', 1))], rollout: { ...serves, failed } },
    ],
    [
      'what was rolled back, when its owner asks: today’s',
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

  it('records what today’s builder makes with its version', () => {
    expect(choose({ rebuild: first }).built).toEqual({ builder: builderVersion, inputs: now, rebuild: first })
  })
})

describe('a rebuild', () => {
  it.each<[string, string, Partial<Input>]>([
    ['asks for today’s', 'today', { known: [made('old', 1)], rebuild: first }],
    [
      'keeps what it made',
      'new',
      { known: [made('old', 1), made('new', 2, { rebuild: first })], rollout: tries, rebuild: first },
    ],
    ['is asked for again by another time', 'today', { known: [made('old', 2, { rebuild: first })], rebuild: second }],
    ['is over for good after its promotion', 'old', { known: [made('old', 2, { rebuild: first })], rebuild: first }],
    ['stays when its annotation goes after the promotion', 'old', { known: [made('old', 2, { rebuild: first })] }],
    [
      'is withdrawn when its annotation goes before the promotion',
      'old',
      { known: [made('new', 2, { rebuild: first }), made('old', 1)], rollout: tries },
    ],
    [
      'that was rolled back is not tried again',
      'bad',
      {
        known: [made('old', 1), gone(made('bad', 2, { rebuild: first }))],
        rollout: { ...serves, failed },
        rebuild: first,
      },
    ],
    ['is not stopped by an adoption', 'today', { known: [bare('old')], rebuild: first }],
  ])('%s', (_what, revision, input) => {
    expect(choose(input).revision).toBe(revision)
  })
})

describe('a Deployment from before revisions recorded their inputs', () => {
  it.each<[string, string, Partial<Input>]>([
    ['is adopted when status was computed from the spec', 'old', { known: [bare('old')] }],
    ['is adopted as what was rolled back', 'bad', { known: [bare('old')], rollout: { ...serves, failed } }],
    ['is not, when the spec has changed since', 'today', { known: [bare('old')], isSpecSeen: false }],
    ['is not, when the status was lost', 'today', { known: [bare('old')], rollout: none, isSpecSeen: false }],
    [
      'is not during a rollout, which may be a rollback for a third spec',
      'today',
      { known: [bare('old'), bare('new')], rollout: tries },
    ],
    ['is not, when it is gone', 'today', { known: [] }],
    [
      'is not in place of one that recorded other inputs',
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
