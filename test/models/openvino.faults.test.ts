// Behaviour of the OpenVINO program that is not visible through Triton; u2netp.test.ts covers masks.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installModelTools } from '@matte/local/models/model-tools'
import { rootDir } from '@matte/local/paths'
import { sayToTerminal } from '@matte/local/say'
import { expect, it } from 'vitest'

it('compiles by its configuration, and returns masks or an error per request', async () => {
  const { command, env } = await installModelTools(sayToTerminal)
  const files = [join(import.meta.dirname, 'openvino_cases.py'), join(rootDir, 'models/u2netp/1/openvino_model.py')]
  const { stdout } = await promisify(execFile)(command, files, { env })
  const maskOf = (level: number) => Array.from({ length: 2 }, () => [level, level])
  const { answers, compiled } = JSON.parse(stdout) as { answers: unknown; compiled: unknown }
  expect(answers).toEqual([
    [maskOf(1), maskOf(2)],
    'cancelled: the request was cancelled',
    'internal: OpenVINO: no mask',
    [maskOf(5)],
  ])
  // In 32 bits by default: bf16 makes u2netp's masks worse.
  expect(compiled).toEqual([
    ['CPU', 'f32', 1],
    ['CPU', 'bf16', 1],
  ])
})
