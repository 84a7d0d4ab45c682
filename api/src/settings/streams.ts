// Settings of the streams of task changes; a part of config.ts.
import { int, type Schema } from '@matte/core/runtime/env'

export const streamSettings = {
  streamsMax: int('STREAMS_MAX', {
    description:
      'open streams of task changes of this process, a quarter of them for one workspace or member; more are ' +
      'answered 429 with details.limit capacity. Each is one of MAX_CONNECTIONS',
    default: 1_000,
    min: 1,
    max: 100_000,
  }),
} as const satisfies Schema
