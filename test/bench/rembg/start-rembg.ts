import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '@matte/local/install/run-command'
import { startServer } from '@matte/local/lifecycle/server'
import { answers } from '@matte/local/lifecycle/wait'
import { sayToTerminal } from '@matte/local/say'
import { freePorts } from '../../support/free-ports.ts'
import type { Photo } from '../rates.ts'
import { installRembg } from './install-rembg.ts'

export type Rembg = {
  /** The PNG for one photo. */
  cutOut(photo: Photo): Promise<Uint8Array>
  stop(): Promise<void>
}

/** `rembg s` as it is by default: its threads, and onnxruntime's, are one for each core. */
export async function startRembg(): Promise<Rembg> {
  const { command, packages, models } = await installRembg(sayToTerminal)
  const [port = 0] = await freePorts(1)
  const dir = mkdtempSync(join(tmpdir(), 'matte-rembg-'))
  const { PATH } = process.env
  const env = {
    PATH,
    HOME: dir,
    PYTHONPATH: packages,
    U2NET_HOME: models,
    // What it compares is a sum of its own download; ours was compared when it was fetched.
    MODEL_CHECKSUM_DISABLED: '1',
    GRADIO_ANALYTICS_ENABLED: 'False',
  }
  // The first import compiles all of them, which may take longer than a server has to become ready.
  await runCommand(command, ['-c', 'import gradio, rembg.bg, rembg.commands.s_command'], { env })
  const server = await startServer({
    name: 'rembg',
    command,
    args: ['-c', 'from rembg.cli import main; main()', 's', '--host', '127.0.0.1', '--port', String(port)],
    env,
    logFile: join(dir, 'rembg.log'),
    lifetime: 'attached',
    url: `http://127.0.0.1:${port}`,
    ports: [port],
    ready: () => answers(`http://127.0.0.1:${port}/api`),
  })
  return {
    cutOut: async ({ bytes, contentType }) => {
      const body = new FormData()
      body.append('file', new Blob([new Uint8Array(bytes)], { type: contentType }), 'photo')
      body.append('model', 'u2netp')
      const response = await fetch(`${server.url}/api/remove`, { method: 'POST', body })
      if (!response.ok) throw new Error(`rembg answered ${response.status}: ${await response.text()}`)
      return new Uint8Array(await response.arrayBuffer())
    },
    stop: async () => {
      await server.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
