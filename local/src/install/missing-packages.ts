// `make` runs this after npm, which reports success even if an optional package, such as a platform's binary, is
// missing.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '../paths.ts'

type LockEntry = {
  readonly optional?: boolean
  readonly os?: string | readonly string[]
  readonly cpu?: string | readonly string[]
  readonly libc?: string | readonly string[]
}
type Platform = { readonly os: string; readonly cpu: string; readonly libc: string }

const here: Platform = { os: process.platform, cpu: process.arch, libc: 'glibc' }

export function listMissingPackages(dir: string, platform: Platform = here): string[] {
  const text = readFileSync(join(dir, 'package-lock.json'), 'utf8')
  const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, LockEntry>> }
  const fits = (listed: LockEntry['os'], one: string): boolean => listed === undefined || [listed].flat().includes(one)
  return Object.entries(packages)
    .filter(([, { optional, os }]) => optional && os !== undefined)
    .filter(([, { os, cpu, libc }]) => fits(os, platform.os) && fits(cpu, platform.cpu) && fits(libc, platform.libc))
    .map(([path]) => path)
    .filter((path) => !existsSync(join(dir, path)))
}

if (import.meta.main) {
  const names = listMissingPackages(rootDir).map((path) => path.split('node_modules/').at(-1))
  if (names.length > 0) {
    process.stderr.write(`npm did not fetch ${names.join(', ')}.
Check the network and the registry (npm config get registry, HTTPS_PROXY), then run make again.
To work without them: touch node_modules/.installed
`)
    process.exitCode = 1
  }
}
