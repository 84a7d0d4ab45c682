import { join } from 'node:path'
import { findPython } from '@matte/local/install/python-packages'
import { runCommand } from '@matte/local/install/run-command'
import { rootDir } from '@matte/local/paths'
import { sayToTerminal } from '@matte/local/say'
import { hugePageTunables } from '@matte/local/servers/runtime-env'
import { installTriton } from '@matte/local/servers/triton'

export type BareRate = { readonly imagesPerSecond: number; readonly onnxruntime: string }

export type BareOptions = {
  readonly processes: number
  readonly threads: number
  readonly seconds: number
  /** With Triton's memory settings: huge pages, no memory planning. */
  readonly tuned?: boolean
}

/** Runs `bare.py` with the Triton installation's onnxruntime and the fp32 file. */
export async function measureBare({ processes, threads, seconds, tuned = false }: BareOptions): Promise<BareRate> {
  const [python, { dir }] = await Promise.all([findPython(), installTriton(sayToTerminal)])
  const packages = join(dir, 'pytriton/tritonserver/backends/python')
  const model = join(rootDir, 'models/u2netp/1/model.onnx')
  const numbers = [processes, threads, seconds, tuned ? 0 : 1].map(String)
  const args = [join(import.meta.dirname, 'bare.py'), model, ...numbers]
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, PYTHONPATH: packages, ...(tuned && { GLIBC_TUNABLES: hugePageTunables }) }
  return JSON.parse(await runCommand(python.command, args, { env })) as BareRate
}
