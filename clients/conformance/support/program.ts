// Programs as a user starts them in a shell, with a small environment. A test may kill them.
import { spawn } from 'node:child_process'
import { nodeEnv } from '@matte/test/support/free-ports.ts'
import { until } from '@matte/test/support/until.ts'

type ProgramOptions = { readonly cwd: string; readonly env?: Readonly<Record<string, string>> }

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

export type Program = {
  readonly ended: Promise<Ended>
  /** Waits for text on either output, and returns the match. */
  untilPrinted(pattern: RegExp): Promise<RegExpExecArray>
  kill(signal?: NodeJS.Signals): Promise<Ended>
}

export function startProgram(command: string, args: readonly string[], { cwd, env }: ProgramOptions): Program {
  // HOME is the folder of the test, so no profile or cache of the person who runs it plays a part.
  const child = spawn(command, args, {
    cwd,
    env: { ...nodeEnv(), HOME: cwd, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed = { stdout: '', stderr: '' }
  child.stdout.on('data', (text: Buffer) => (printed.stdout += text.toString()))
  child.stderr.on('data', (text: Buffer) => (printed.stderr += text.toString()))
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, ...printed }))
  })
  return {
    ended,
    untilPrinted: (pattern) =>
      until(`the program prints ${pattern}`, () => pattern.exec(printed.stdout + printed.stderr)),
    kill: (signal = 'SIGKILL') => {
      child.kill(signal)
      return ended
    },
  }
}

/** Runs a program to its end. @throws Error with its output if it fails */
export async function runProgram(command: string, args: readonly string[], options: ProgramOptions): Promise<Ended> {
  const ended = await startProgram(command, args, options).ended
  if (ended.code !== 0) throw new Error(`${command} ${args.join(' ')}: ${ended.code}\n${ended.stdout}${ended.stderr}`)
  return ended
}
