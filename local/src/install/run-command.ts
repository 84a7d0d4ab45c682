import { spawn } from 'node:child_process'

type CommandOptions = {
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  readonly uid?: number
  readonly gid?: number
}

const outputBytesMax = 4_000

/** Runs a program and returns its stdout. @throws Error with the end of its output */
export function runCommand(command: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  // Later arguments may be long or secret.
  const shown = [command, ...args.slice(0, args[0] === '-m' ? 3 : 1)].join(' ')
  let stdout = ''
  let all = ''
  const collect = (chunk: Buffer): void => {
    all = (all + chunk.toString()).slice(-outputBytesMax)
  }
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
    collect(chunk)
  })
  child.stderr.on('data', collect)
  child.on('error', (error) => reject(new Error(`cannot run ${command}: ${error.message}`)))
  child.on('close', (code, signal) => {
    if (code === 0) resolve(stdout)
    else reject(new Error(`${shown} failed (${signal ?? `exit code ${code}`}):\n${all.trimEnd()}`))
  })
  return promise
}
