import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const program = `
  import { runServices } from '${new URL('./main.ts', import.meta.url).href}'
  const logger = { info() {}, debug() {}, error() {}, fatal() {} }
  const left = { name: 'left', start: () => void setInterval(() => {}, 60_000), stop: () => undefined }
  setImmediate(() => process.kill(process.pid, 'SIGTERM'))
  await runServices({ logger, services: [left], stopWithinMs: 20_000 })
`

const failing = `
  import { createLogger } from '${new URL('./logger.ts', import.meta.url).href}'
  import { runServices } from '${new URL('./main.ts', import.meta.url).href}'
  const error = Object.assign(new Error('duplicate key'), { code: '23505', detail: 'Key (email)=(private words)' })
  const broken = { name: 'broken', start: () => void Promise.reject(error), stop: () => undefined }
  await runServices({ logger: createLogger('test', 'info'), services: [broken], stopWithinMs: 20_000 })
`

it('an error that nothing handles ends the process and is logged like any other, without values of rows', async () => {
  const running = promisify(execFile)(process.execPath, ['--input-type=module', '-e', failing], { timeout: 9_000 })
  const { code, stdout, stderr } = (await running.catch((error: { code: number; stdout: string; stderr: string }) => ({
    ...{ code: error.code, stdout: error.stdout, stderr: error.stderr },
  }))) as { code?: number; stdout: string; stderr: string }
  expect(code).toBe(1)
  expect(stdout).toMatch(/"level":"fatal".*"code":"23505".*"msg":"process failed"/)
  expect(stdout + stderr).not.toContain('private words')
})

it('a process exits after its services have stopped, even if its event loop is busy', async () => {
  const running = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { timeout: 9_000 })
  await expect(running).resolves.toMatchObject({ stderr: '' })
})
