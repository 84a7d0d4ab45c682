// Runs the program of docs/app.md, word for word, against a whole service.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { rootDir } from '@matte/local/paths'
import { expect, it } from 'vitest'
import { useStack } from '../support/stack.ts'

const run = promisify(execFile)

const stack = useStack({ env: { dispatcher: { MATTE_ENV: 'development' } } })

it('the program of docs/app.md runs from registration to refund', async () => {
  const page = readFileSync(join(rootDir, 'docs/app.md'), 'utf8')
  const program = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, block]) => block).join('\n')
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: rootDir,
    env: {
      ...process.env,
      MATTE_URL: stack.process('api').url,
      MATTE_DISPATCHER_LOG: stack.process('dispatcher').logFile,
    },
  })
  expect(stdout).toContain('2FA is on, 10 recovery codes')
  expect(stdout).toMatch(/cut out \S+ true/)
  expect(stdout).toMatch(/the team has .*\(owner\).*\(member\)|the team has .*\(member\).*\(owner\)/)
  expect(stdout).toMatch(/refund +-\d+/)
})
