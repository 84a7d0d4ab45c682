// Tables of docs/events.md, from the definition of webhook bodies and the event catalog.
import { bodySchemaOf, eventCatalog } from '@matte/core/webhook/event-catalog'
import { webhookEvents } from '@matte/core/webhook/events'
import { replaceSection, toTable } from './markdown.ts'

export const writeEvents = (before: string): string =>
  replaceSection(replaceSection(before, 'events', eventTable()), 'bodies', bodies())

const eventTable = (): string =>
  toTable(
    ['event', 'comes when', 'fields'],
    webhookEvents.map((event) => {
      const { description, fields } = eventCatalog[event]
      const names = Object.keys(fields).map((name) => `\`${name}\``)
      return [`\`${event}\``, description, names.join(', ')]
    }),
  )

const bodies = (): string =>
  webhookEvents.map((event) => `\`\`\`json\n${JSON.stringify(bodySchemaOf(event).examples[0])}\n\`\`\``).join('\n\n')
