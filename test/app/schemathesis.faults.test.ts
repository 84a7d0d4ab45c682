// Schemathesis against the App API, signed in and not: no response may be a 5xx, have an undocumented status, code or
// header, or break its schema.
import type { ErrorCode } from '@matte/core/error'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenPerson } from '../support/app/people.ts'
import { examine, readDocument, timeoutMs } from '../support/schemathesis/examine.ts'

// No dispatcher runs here, so a test event would wait for its maximum time.
const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000', TASKS_MAX_WAIT: '1' })

/** These end the session of the run. */
const ending = ['/api/v1/app/auth/logout', '/api/v1/app/auth/logout-all']
/** An endless stream. */
const streaming = ['/api/v1/app/tasks/stream']

const readApp = () =>
  readDocument(world.api.url, (path) => path.startsWith('/api/v1/app/') && ![...ending, ...streaming].includes(path))

/** Generated ids are unknown, states vary, and codes, tokens and passwords are invalid. */
const refusals: readonly ErrorCode[] = [
  'INVALID_PARAMS', // within the exceptions of hooks.py
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

describe('Schemathesis finds no problem in the App API', () => {
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
