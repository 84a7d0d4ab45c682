// Pictures with a true alpha, and background photos, from Debian packages: fetched by apt into the cache, never
// committed or distributed. Without apt the bench runs without them.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from '@matte/local/install/run-command'
import type { Say } from '@matte/local/say'
import { cacheDir } from '../cache.ts'

type Package = { readonly name: string; readonly version: string; readonly sha256: string; readonly megabytes: number }

/** Debian 12. Licences: usr/share/doc/<name>/copyright; all free, most GPL or CC BY-SA. */
const packages = {
  portraits: {
    name: 'wesnoth-1.16-httt',
    version: '1:1.16.9-1',
    sha256: '05b16a3f8f8204278794aae14d8e6a7c95d2b2faef7337c4997c827a146d1bbd',
    megabytes: 13,
  },
  morePortraits: {
    name: 'wesnoth-1.16-utbs',
    version: '1:1.16.9-1',
    sha256: '81e05717bebbfb6348c0bed2cd6ce2560c4fd9205ed419c2e7bc039b4a70e228',
    megabytes: 13,
  },
  stamps: {
    name: 'tuxpaint-stamps-default',
    version: '2022.06.04-1',
    sha256: '6db6c1bfc870a47f1499d6203b083522eacb57c5f9c87d468f2e92eb6d9d5f34',
    megabytes: 161,
  },
  photos: {
    name: 'mate-backgrounds',
    version: '1.26.0-1',
    sha256: '7bf4c2209f34b4f61ba6d24c8b58c28b361e82e4b943aae6d42c030169af9e04',
    megabytes: 47,
  },
} satisfies Record<string, Package>

export type PackageName = keyof typeof packages

/** Folder with the package's files; undefined if unavailable here, with the reason in `say`. */
export async function unpack(key: PackageName, say: Say): Promise<string | undefined> {
  const { name, version, sha256, megabytes } = packages[key]
  const target = join(cacheDir, 'packages', `${name}-${sha256.slice(0, 12)}`)
  if (existsSync(target)) return target
  await mkdir(join(cacheDir, 'packages'), { recursive: true })
  const aside = await mkdtemp(join(cacheDir, 'packages/.unpack.'))
  try {
    say(`fetching the package ${name} (${megabytes} MB) …`)
    await runCommand('apt-get', ['download', `${name}=${version}`], { cwd: aside })
    const [file = ''] = await readdir(aside)
    const found = createHash('sha256')
      .update(await readFile(join(aside, file)))
      .digest('hex')
    if (found !== sha256) throw new Error(`${file} has SHA-256 ${found}, not ${sha256}`)
    await runCommand('dpkg', ['-x', file, 'files'], { cwd: aside })
    await rename(join(aside, 'files'), target)
    return target
  } catch (error) {
    if (existsSync(target)) return target
    say(`SKIPPED pictures of ${name}: ${error instanceof Error ? error.message.split('\n').at(-1) : error}`)
    return undefined
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}
