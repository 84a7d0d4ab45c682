import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { recordAttempt } from './attempt-record.ts'
import { pod } from './routing/pod-picker.fixtures.ts'
import { createTaskMetrics } from './task-metrics.ts'

const given = () => recordAttempt(createTaskMetrics(new Registry(), {}))
const served = { pool: 'general', revision: '7d9c5b6f4', tritonModel: 'u2netp' }

describe('the record of an attempt', () => {
  it('has stages in their order, however often each began, and one that failed', async () => {
    const attempt = given()
    for (const stage of ['wait', 'fetch', 'wait'] as const) await attempt.stage(stage, async () => undefined)
    await attempt.stage('decode', () => Promise.reject(new Error('no image'))).catch(() => undefined)
    expect(Object.keys(attempt.work().stagesMs)).toEqual(['fetch', 'decode', 'wait'])
    expect(Object.values(attempt.work().stagesMs).every(Number.isInteger)).toBe(true)
  })

  it('moves time of one stage to another', async () => {
    const attempt = given()
    attempt.move('wait', 'refine', 300)
    attempt.move('refine', 'encode', 120)
    expect(attempt.work().stagesMs).toEqual({ wait: 0, refine: 180, encode: 120 })
  })

  it('names pod and model once a pod was chosen', () => {
    const attempt = given()
    expect(attempt.work()).toEqual({ stagesMs: {} })
    attempt.servedBy({ ...pod('10.0.0.7:8001', 1), ...served, name: 'general-7d9c5b6f4-x2x7q' })
    const { pool, revision, tritonModel: model } = served
    expect(attempt.work()).toMatchObject({ pod: 'general-7d9c5b6f4-x2x7q', revision, pool, model })
  })

  it('hides the address of a server outside Kubernetes', () => {
    const attempt = given()
    attempt.servedBy({ ...pod('triton.internal:8001', 1), ...served, name: 'triton.internal:8001' })
    expect(attempt.work()).toEqual({ pool: 'general', model: 'u2netp', stagesMs: {} })
  })
})
