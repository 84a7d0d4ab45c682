import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages } from '@matte/local/install/python-packages'
import { runCommand } from '@matte/local/install/run-command'
import { startServer } from '@matte/local/lifecycle/server'
import { answers } from '@matte/local/lifecycle/wait'
import { sayToTerminal } from '@matte/local/say'
import { installPeers } from '../../quality/peers/install.ts'
import { freePorts } from '../../support/free-ports.ts'
import type { Photo } from '../rates.ts'

export type Rembg = {
  /** Returns the PNG for a photo. */
  cutOut(photo: Photo): Promise<Uint8Array>
  stop(): Promise<void>
}

/** `rembg s` with its defaults, without its web page: one onnxruntime thread per core. */
export async function startRembg(): Promise<Rembg> {
  const { python, env: own } = await installPeers(sayToTerminal)
  const requirements = join(import.meta.dirname, 'requirements.txt')
  const saying = 'fetching the packages of the rembg server (8 MB, 30 MB on disk)'
  const { dir: packages } = await installPackages({ name: 'rembg-server', requirements, saying }, sayToTerminal)
  const [port = 0] = await freePorts(1)
  const dir = mkdtempSync(join(tmpdir(), 'matte-rembg-'))
  // Disables rembg's checksum, which is for its own download; the fetch has verified this file.
  const env = { ...own, HOME: dir, PYTHONPATH: `${own.PYTHONPATH}:${packages}`, MODEL_CHECKSUM_DISABLED: '1' }
  // The first import compiles the packages, which may exceed the readiness timeout.
  await runCommand(python, ['-c', 'import rembg.bg, rembg.commands.s_command'], { env })
  const flags = ['s', '--no-ui', '--host', '127.0.0.1', '--port', String(port), '--log_level', 'warning']
  const server = await startServer({
    name: 'rembg',
    command: python,
    args: ['-c', 'from rembg.cli import main; main()', ...flags],
    env,
    logFile: join(dir, 'rembg.log'),
    lifetime: 'attached',
    url: `http://127.0.0.1:${port}`,
    ports: [port],
    ready: () => answers(`http://127.0.0.1:${port}/api`),
  })
  return {
    cutOut: (photo) => askRembg(server.url, photo),
    stop: async () => {
      await server.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** The same request for rembg's server and for the door. */
export async function askRembg(url: string, { bytes, contentType }: Photo): Promise<Uint8Array> {
  const body = new FormData()
  body.append('file', new Blob([new Uint8Array(bytes)], { type: contentType }), 'photo')
  body.append('model', 'u2netp')
  const response = await fetch(`${url}/api/remove`, { method: 'POST', body })
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
  return new Uint8Array(await response.arrayBuffer())
}
