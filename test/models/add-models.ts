// models/add.py as `make model-add` runs it, on generated networks.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { installModelTools } from '@matte/local/models/model-tools'
import { sayToTerminal } from '@matte/local/say'

const scripts = join(import.meta.dirname, 'graphs')

type Answer = { readonly failed: boolean; readonly said: string }

/** Writes the networks of graphs/make.py. */
export async function makeGraphs(folder: string): Promise<void> {
  await runPython('make.py', [folder])
}

/** Runs once per list of arguments. */
export async function addModels(runs: readonly (readonly string[])[]): Promise<Answer[]> {
  return JSON.parse(await runPython('add_many.py', [], JSON.stringify(runs))) as Answer[]
}

async function runPython(script: string, args: readonly string[], input = ''): Promise<string> {
  const { command, env } = await installModelTools(sayToTerminal)
  const child = spawn(command, [join(scripts, script), ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.end(input)
  const { promise: ended, resolve } = Promise.withResolvers<number | null>()
  child.on('close', resolve)
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  if (code !== 0) throw new Error(`${script} failed (exit code ${code}):\n${errors}`)
  return output
}
