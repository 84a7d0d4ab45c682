import { int, type Schema } from '@matte/core/runtime/env'

export const sessionSettings = {
  sessionIdleHours: int('SESSION_IDLE_HOURS', {
    description:
      'hours without use after which a session of the console or of the App API ends; signing in, refreshing tokens ' +
      'and switching the workspace are uses. A session ends after 30 days (720 hours) in any case',
    default: 168,
    // Longer than an access token lives, so refreshes alone look at the limit.
    min: 1,
    max: 720,
  }),
} as const satisfies Schema
