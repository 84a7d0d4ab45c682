import { expect, it } from 'vitest'
import { bodySchemaOf, buildTestBody, eventCatalog, testBodySchema } from './event-catalog.ts'
import { batchFields, buildEventBody, buildTaskBody } from './event-fields.ts'
import { webhookEvents } from './events.ts'

const namesOf = (body: string): string[] => Object.keys(JSON.parse(body))

it('has the events of the interface in its order, each with a message last', () => {
  expect(Object.keys(eventCatalog)).toEqual([...webhookEvents])
  for (const event of webhookEvents) expect(bodySchemaOf(event).required.at(-1)).toBe('message')
})

it('has an example of the stated form for each event', () => {
  for (const event of webhookEvents) {
    const { properties, required, examples } = bodySchemaOf(event)
    const example: Record<string, unknown> = examples[0] ?? {}
    expect(Object.keys(example)).toEqual(required)
    for (const [name, { type }] of Object.entries(eventCatalog[event].fields)) {
      const value = example[name]
      expect([event, name, type === 'integer' ? Number.isInteger(value) : typeof value === 'string']).toEqual([
        ...[event, name, true],
      ])
    }
    expect(properties.event).toEqual({ const: event })
  }
})

it('states the fields of task, batch and test bodies', () => {
  const task = { taskId: 't', message: 'm' }
  expect(namesOf(buildTaskBody({ ...task, event: 'task.succeeded' }))).toEqual(bodySchemaOf('task.succeeded').required)
  const failed = buildTaskBody({ ...task, event: 'task.failed', reason: 'INTERNAL' })
  expect(namesOf(failed)).toEqual(bodySchemaOf('task.failed').required)
  const fields = batchFields({ batchId: 'b', totalCount: 2, successCount: 1 })
  const batch = buildEventBody({ event: 'batch.completed', fields })
  expect(namesOf(batch)).toEqual(bodySchemaOf('batch.completed').required)
  expect(namesOf(buildTestBody('e', new Date(0)))).toEqual(testBodySchema.required)
})
