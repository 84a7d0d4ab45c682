import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Say } from '@matte/local/say'
import { cacheDir } from '../cache.ts'
import { installPeers, type Peers } from './install.ts'

export const peerNames = ['guided', 'rembg', 'rembg-decontaminate', 'rembg-post', 'rembg-matting'] as const
type PeerName = (typeof peerNames)[number]

export const isPeer = (name: string): name is PeerName => peerNames.some((peer) => peer === name)

/** Closed-form matting solves for every unsure pixel: 12 megapixels take minutes and over 6 GB. */
const mattingPixelsMax = 5e6

export type PeerFiles = ReadonlyMap<string, string>
/** `digest` of the photo's bytes, for the cache. */
type Located = { readonly name: string; readonly path: string; readonly digest: string; readonly pixels: number }

/** `<picture> <mode>` → file of the cut-out; earlier ones come from the cache. */
export async function runPeers(pictures: readonly Located[], names: readonly PeerName[], say: Say): Promise<PeerFiles> {
  const files = new Map<string, string>()
  if (names.length === 0) return files
  const peers = await installPeers(say)
  const tasks = new Map<string, string>()
  for (const { name, path, digest, pixels } of pictures) {
    const results: Record<string, string> = {}
    for (const mode of names) {
      if (mode === 'rembg-matting' && pixels > mattingPixelsMax) continue
      const file = join(cacheDir, `peers-${peers.digest}`, mode, `${digest}.png`)
      files.set(`${name} ${mode}`, file)
      if (existsSync(file)) continue
      await mkdir(dirname(file), { recursive: true })
      results[mode] = file
    }
    if (Object.keys(results).length > 0) tasks.set(path, JSON.stringify({ photo: path, results }))
  }
  if (tasks.size > 0) await run(peers, tasks, say)
  return files
}

async function run({ python, env }: Peers, tasks: ReadonlyMap<string, string>, say: Say): Promise<void> {
  const child = spawn(python, [join(import.meta.dirname, 'peers.py')], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  child.stdin.end(`${[...tasks.values()].join('\n')}\n`)
  const left = new Set(tasks.keys())
  for await (const line of createInterface({ input: child.stdout })) {
    // The solver also prints warnings here.
    if (left.delete(line) && left.size % 20 === 0)
      say(`the other programs: ${left.size} of ${tasks.size} pictures left`)
  }
  const [code] = await ended
  if (code !== 0 || left.size > 0) throw new Error(`peers.py ended with ${code}, ${left.size} pictures unfinished`)
}
