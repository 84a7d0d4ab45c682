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

it('a process exits after its services have stopped, even if its event loop is busy', async () => {
  const running = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { timeout: 9_000 })
  await expect(running).resolves.toMatchObject({ stderr: '' })
})
