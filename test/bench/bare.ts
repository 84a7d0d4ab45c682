import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { findPython } from '@matte/local/python'
import { runCommand } from '@matte/local/run-command'
import { sayToTerminal } from '@matte/local/say'
import { installTriton } from '@matte/local/triton'

export type BareRate = { readonly imagesPerSecond: number; readonly onnxruntime: string }

/** Runs `bare.py` with the packages of the Triton installation: the same onnxruntime, the same model file. */
export async function measureBare(processes: number, threads: number, seconds: number): Promise<BareRate> {
  const [python, { dir }] = await Promise.all([findPython(), installTriton(sayToTerminal)])
  const packages = join(dir, 'pytriton/tritonserver/backends/python')
  const model = join(rootDir, 'models/u2netp/1/model.onnx')
  const args = [join(import.meta.dirname, 'bare.py'), model, String(processes), String(threads), String(seconds)]
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, PYTHONPATH: packages }
  return JSON.parse(await runCommand(python.command, args, { env })) as BareRate
}
