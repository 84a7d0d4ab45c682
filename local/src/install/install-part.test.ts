import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { partsDir } from '../paths.ts'
import { installWheel } from './python-packages.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'matte-python-'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(dir, { recursive: true })
})

const wheel = {
  distribution: 'no-such-server',
  version: '1.2.3',
  sha256: '0'.repeat(64),
  sizeMegabytes: 7,
  program: 'x',
}

describe('a part that cannot be fetched', () => {
  it('fails with its name, the reason and advice, and leaves nothing behind', async () => {
    const python = join(dir, 'python')
    const reason = 'ERROR: Could not find a version that satisfies the requirement no-such-server==1.2.3'
    writeFileSync(python, `#!/bin/sh\n[ "$1" = -c ] && echo 3.11 && exit\necho '${reason}' >&2\nexit 1\n`)
    chmodSync(python, 0o755)
    vi.stubEnv('PYTHON', python)
    const error = await installWheel(wheel, () => {}).catch((thrown: Error) => thrown)
    expect(String(error)).toContain('no-such-server-1.2.3 could not be installed')
    expect(String(error)).toContain(`-m pip install failed (exit code 1):\n${reason}`)
    expect(String(error)).toContain('PIP_INDEX_URL')
    const left = existsSync(partsDir) ? readdirSync(partsDir) : []
    expect(left.filter((name) => name.includes('no-such-server'))).toEqual([])
  })
})
