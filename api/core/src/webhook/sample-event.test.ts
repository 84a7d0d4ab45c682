import { expect, it } from 'vitest'
import { bodySchemaOf, eventCatalog } from './event-catalog.ts'
import { buildTaskBody } from './event-fields.ts'
import { webhookEvents } from './events.ts'
import { buildSampleEvent } from './sample-event.ts'

const nilId = '00000000-0000-0000-0000-000000000000'

it('has the fields of each event in their order, with nil ids and example values', () => {
  for (const event of webhookEvents) {
    const sample: Record<string, unknown> = JSON.parse(buildSampleEvent(event))
    expect(Object.keys(sample)).toEqual(bodySchemaOf(event).required)
    for (const [name, { example }] of Object.entries(eventCatalog[event].fields)) {
      const isId = name === 'batch_job_id' || /^(task|order|refund|dispute)_id$/.test(name)
      expect([event, name, sample[name]]).toEqual([event, name, isId ? nilId : example])
    }
  }
})

it('has the same bytes as a real event with these values', () => {
  const real = buildTaskBody({ event: 'task.succeeded', taskId: nilId, message: 'The cut-out is ready.' })
  expect(buildSampleEvent('task.succeeded')).toBe(real)
})
