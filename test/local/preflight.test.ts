import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

/** Programs of a complete machine, as lines of shell scripts. */
const complete: Readonly<Record<string, string>> = {
  uname: 'case $1 in -s) echo Linux;; -m) echo x86_64;; esac',
  getconf: 'echo glibc 2.36',
  node: 'echo v20.20.2',
  npm: ':',
  python3: 'case "$2" in *version_info*ctypes*) ;; *print*) echo 3.11;; esac',
  make: ':',
  bash: ':',
}

let bin: string
beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), 'matte-bin-'))
})
afterEach(() => rmSync(bin, { recursive: true, force: true }))

function preflight(changes: Readonly<Record<string, string | undefined>>, args: readonly string[] = []) {
  for (const [name, script] of Object.entries({ ...complete, ...changes })) {
    if (script === undefined) continue
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  const script = join(rootDir, 'local/preflight.sh')
  const { status, stdout, stderr } = spawnSync('/bin/sh', [script, ...args], { env: { PATH: bin }, encoding: 'utf8' })
  return { status, stdout, stderr }
}

describe('preflight', () => {
  it('prints nothing on a complete machine', () => {
    expect(preflight({})).toEqual({ status: 0, stdout: '', stderr: '' })
  })

  it('finds a usable Python beside a newer one', () => {
    expect(preflight({ python3: 'echo 3.13', 'python3.11': 'echo 3.11' })).toMatchObject({ status: 0, stderr: '' })
  })

  it('lists everything missing in one message, with packages', () => {
    const { status, stderr } = preflight({ npm: undefined, make: undefined, node: 'echo v18.19.0' })
    expect(status).toBe(1)
    expect(stderr).toMatch(/^This machine lacks:\n/)
    expect(stderr).toMatch(/Node 20 or newer \(found: v18\.19\.0\)\n.*Debian\/Ubuntu: nodejs {3}Fedora: nodejs/)
    expect(stderr).toMatch(/- npm\n.*Debian\/Ubuntu: npm {3}Fedora: nodejs-npm/)
    expect(stderr).toMatch(/- make\n/)
    expect(stderr).not.toMatch(/Python|pip/)
  })

  it.each([
    ['an old glibc', { getconf: 'echo glibc 2.31' }, /glibc 2\.35 or newer \(this is glibc 2\.31\)/],
    ['another C library', { getconf: 'exit 1' }, /this is another C library/],
    ['another processor', { uname: 'echo aarch64' }, /Linux on x86-64/],
    [
      'a Python that is too new',
      { python3: 'echo 3.13' },
      /Python 3\.10, .* \(python3 is 3\.13, python3\.12 is not there/,
    ],
    ['no Python', { python3: undefined }, /Python 3\.10, 3\.11 or 3\.12 \(python3 is not there/],
    ['no pip', { python3: '[ "$1" != -m ] || exit 1; echo 3.11' }, /pip for python3 \(3\.11\)\n.*python3-pip/],
    [
      'no shared library of Python',
      { python3: 'case $2 in *ctypes*) exit 1;; esac; echo 3.11' },
      /libpython3\.11\.so\.1\.0, the shared library of python3\n.*Debian\/Ubuntu: libpython3\.11 /,
    ],
  ])('names %s', (_name, changes, message) => {
    const { status, stderr } = preflight(changes)
    expect(status).toBe(1)
    expect(stderr).toMatch(message)
  })

  it('prints only the packages for an unattended installation', () => {
    const { stdout } = preflight({ npm: undefined, make: undefined }, ['--packages'])
    expect(stdout.trim().split(/\s+/)).toEqual(['npm', 'make'])
  })
})
