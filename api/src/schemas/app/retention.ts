import { retentionSecondsMin } from '@matte/core/workspace/retention'
import { Type } from 'typebox'
import { named, nullable } from '../schema.ts'

const seconds = (description: string) => Type.Integer({ minimum: retentionSecondsMin, description })

export const retentionSchema = named(
  'Retention',
  {
    retention: nullable(seconds("Seconds from a task's end to its deletion; null: as the installation or plan says.")),
    effective: seconds('Seconds in force for tasks that chose none.'),
    min: seconds('Shortest retention.'),
    max: seconds("Longest retention: the plan's."),
  },
  { retention: 86_400, effective: 86_400, min: retentionSecondsMin, max: 2_592_000 },
)

export const retentionRequest = Type.Object(
  { retention: nullable(seconds("Seconds, at most the plan's days; null: as the installation or plan says.")) },
  { examples: [{ retention: 86_400 }] },
)
