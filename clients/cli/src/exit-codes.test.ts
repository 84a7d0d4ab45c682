import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { exitCodeMeanings, exitCodeOf, isEndOfRun } from './exit-codes.ts'

describe('exit codes by cause', () => {
  it.each([
    ['API_KEY_INVALID', 401, 3],
    ['API_KEY_INSUFFICIENT_SCOPE', 403, 3],
    ['CREDITS_INSUFFICIENT', 400, 4],
    ['DEVELOPER_API_QUOTA_EXCEEDED', 429, 4],
    ['DEVELOPER_API_ACCESS_DENIED', 403, 4],
    ['DEVELOPER_TASK_NOT_FOUND', 404, 4],
    ['TASK_CANNOT_CANCEL', 409, 4],
    ['INVALID_PARAMS', 400, 2],
    ['CLIENT_INPUT', undefined, 2],
    ['TASK_MAINTENANCE', 503, 5],
    ['SYSTEM_INTERNAL_ERROR', 500, 5],
    ['CLIENT_CONNECTION', undefined, 5],
    ['CLIENT_TIMEOUT', undefined, 5],
    ['CLIENT_ABORTED', undefined, 130],
    ['INPUT_UNREADABLE', undefined, 1],
  ])('%s with status %s exits with %i', (code, status, exitCode) => {
    expect(exitCodeOf({ code, status })).toBe(exitCode)
  })

  it('ends a run for errors that every further image would get, and for no other', () => {
    expect(isEndOfRun({ code: 'CREDITS_INSUFFICIENT' })).toBe(true)
    expect(isEndOfRun({ code: 'CLIENT_CONNECTION' })).toBe(true)
    expect(isEndOfRun({ code: 'INPUT_UNREADABLE' })).toBe(false)
    expect(isEndOfRun({ code: 'TASK_FILE_SIZE_EXCEEDED' })).toBe(false)
  })

  it('are those of the README', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
    const rows = [...readme.matchAll(/^\| (\d+) \| (.+) \|$/gm)].map(([, code, cause]) => `${code} ${cause}`)
    expect(rows).toEqual(exitCodeMeanings.map(([code, meaning]) => `${code} ${meaning}`))
  })
})
