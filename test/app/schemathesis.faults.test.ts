// Schemathesis against the App API, signed in and not: no answer may be a 5xx, have a status, code or header that is
// not documented, or break its schema.
import type { ErrorCode } from '@matte/core/error'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenPerson } from '../support/app/people.ts'
import { examine, readDocument, timeoutMs } from '../support/schemathesis/examine.ts'

// No dispatcher runs here, so a test event would be waited for as long as it may be.
const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000', TASKS_MAX_WAIT: '1' })

/** These end the session that the run is signed in with. */
const ending = ['/api/v1/app/auth/logout', '/api/v1/app/auth/logout-all']
/** It does not end. */
const streaming = ['/api/v1/app/tasks/stream']

const readApp = () =>
  readDocument(world.api.url, (path) => path.startsWith('/api/v1/app/') && ![...ending, ...streaming].includes(path))

/** Ids are made up and states are what they are; texts of codes, tokens and passwords are nobody's. */
const refusals: readonly ErrorCode[] = [
  'INVALID_PARAMS', // as far as hooks.py lets it
  'NOT_FOUND',
  'CONFLICT',
  'AUTH_INVALID_TOKEN',
  'AUTH_FORBIDDEN',
  'RATE_LIMIT_EXCEEDED',
  'TASK_INPUT_FORBIDDEN',
  'TASK_FORMAT_NOT_SUPPORTED',
  'TASK_FILE_SIZE_EXCEEDED',
  'CREDITS_INSUFFICIENT',
]

describe('Schemathesis finds nothing in the App API', () => {
  it('signed in as an owner', { timeout: timeoutMs }, async () => {
    const { accessToken } = await givenPerson(world.db, world.api, { plan: 'internal' })
    const header = `Authorization: Bearer ${accessToken}`
    const wanted = { url: world.api.url, document: await readApp(), header, refusals }
    expect(await examine({ ...wanted, phases: 'examples,coverage,fuzzing', examples: 8 })).toBeGreaterThan(500)
  })

  it('not signed in', { timeout: timeoutMs }, async () => {
    const wanted = { url: world.api.url, document: await readApp(), refusals }
    expect(await examine({ ...wanted, phases: 'coverage', examples: 2 })).toBeGreaterThan(300)
  })
})
