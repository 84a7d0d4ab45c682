// Settings of signing in; a part of config.ts.
import { int, type Schema } from '@matte/core/runtime/env'

export const signInSettings = {
  passwordHashesMax: int('PASSWORD_HASHES_MAX', {
    description:
      'logins and other judgements of a password at once, each with 19 MiB and a core for some 10 ms: one makes ' +
      'sixty a second; below the number of cores, so that they leave the rest alone',
    default: 1,
    min: 1,
    max: 64,
  }),
  passwordHashesWaitingMax: int('PASSWORD_HASHES_WAITING_MAX', {
    description:
      'passwords that wait for their turn, which networks take by turns; past it the newest of the network with most ' +
      'are answered 429 with details.limit capacity',
    default: 500,
    min: 0,
  }),
} as const satisfies Schema
