import { describe, expect, it } from 'vitest'
import { type ConditionAnswer, setCondition } from './conditions.ts'
import { conditionTypes, reasons } from './reasons.ts'

const ready = (status: 'True' | 'False', message = 'One.'): ConditionAnswer => ({
  type: 'Ready',
  status,
  reason: status === 'True' ? 'Available' : 'Starting',
  message,
})

const first = setCondition([], ready('False'), { now: new Date('2026-11-21T08:00:00.900Z'), generation: 1 })
const later = { now: new Date('2026-11-21T08:05:00Z'), generation: 2 }

describe('setCondition', () => {
  it('dates a new condition in whole seconds', () => {
    expect(first).toEqual([{ ...ready('False'), observedGeneration: 1, lastTransitionTime: '2026-11-21T08:00:00Z' }])
  })

  it('keeps the time of the last transition if only the message changes', () => {
    const [condition] = setCondition(first, ready('False', 'Two.'), later)
    expect(condition).toMatchObject({
      message: 'Two.',
      observedGeneration: 2,
      lastTransitionTime: '2026-11-21T08:00:00Z',
    })
  })

  it('dates a transition', () => {
    expect(setCondition(first, ready('True'), later)[0]?.lastTransitionTime).toBe('2026-11-21T08:05:00Z')
  })

  it('keeps other conditions in their order', () => {
    const degraded: ConditionAnswer = { type: 'Degraded', status: 'False', reason: 'NothingWrong', message: 'Fine.' }
    const both = setCondition(setCondition([], degraded, later), ready('True'), later)
    expect(both.map(({ type }) => type)).toEqual(['Ready', 'Degraded'])
  })
})

describe('the reasons', () => {
  it.each(Object.entries(reasons))('%s has its meaning and advice in sentences', (reason, { means, act }) => {
    expect(reason).toMatch(/^[A-Z][A-Za-z]+$/)
    for (const words of [means, act]) expect(words).toMatch(/^[A-Z].*\.$/)
  })

  it('are no condition types, except RolledBack', () => {
    expect(conditionTypes.filter((type) => type in reasons)).toEqual(['RolledBack'])
  })
})
