import { join } from 'node:path'
import { expect, it } from 'vitest'
import { listFailures } from './failures.ts'

it('names each failed test with its file and its message in one line', () => {
  const report = {
    testResults: [
      {
        name: join(process.cwd(), 'test/api/tasks.test.ts'),
        assertionResults: [
          { fullName: 'tasks are listed', status: 'passed', failureMessages: [] },
          {
            fullName: ' tasks are read',
            status: 'failed',
            failureMessages: ['Error: 404\n<gone/>\n    at here', 'and more'],
          },
          { fullName: 'tasks wait', status: 'skipped' },
        ],
      },
    ],
  }
  expect(listFailures(report)).toEqual(['test/api/tasks.test.ts: tasks are read: Error: 404 <gone/>'])
})

it('names a file that failed without a failed test: it did not load, or what its tests need did not start', () => {
  const name = join(process.cwd(), 'test/api/tasks.test.ts')
  const skipped = { fullName: 'tasks are listed', status: 'skipped', failureMessages: [] }
  const report = {
    testResults: [{ name, status: 'failed', message: 'no port\n    at here', assertionResults: [skipped] }],
  }
  expect(listFailures(report)).toEqual(['test/api/tasks.test.ts: no port'])
})
