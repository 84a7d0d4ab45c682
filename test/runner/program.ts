// Programs of a run. Each leads a process group, and the group ends when this program is gone, also after SIGKILL.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'

type Options = { readonly signal: AbortSignal; readonly env?: NodeJS.ProcessEnv }

/** Time of an interrupted program for its servers to stop, before it is killed. */
const interruptedMs = 30_000

/** Returns whether the program ended with exit code 0. `signal` sends SIGINT to its group. */
export function runProgram(command: string, args: readonly string[], { signal, env }: Options): Promise<boolean> {
  return new Promise((resolve) => {
    // No standard input: a group in the background would be stopped when it reads the terminal.
    const stdio = ['ignore', 'inherit', 'inherit'] as const
    const child = spawn(command, args, { stdio: [...stdio], detached: true, env: { ...process.env, ...env } })
    const { pid } = child
    const release = pid === undefined ? () => {} : guardGroup(pid)
    const send = (name: NodeJS.Signals) => {
      if (pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(-pid, name)
    }
    let killing: NodeJS.Timeout | undefined
    const interrupt = () => {
      send('SIGINT')
      killing = setTimeout(() => send('SIGKILL'), interruptedMs)
    }
    if (signal.aborted) interrupt()
    signal.addEventListener('abort', interrupt, { once: true })
    child.on('error', (error) => {
      process.stderr.write(`cannot run ${command}: ${error.message}\n`)
      resolve(false)
    })
    child.on('close', (code) => {
      clearTimeout(killing)
      signal.removeEventListener('abort', interrupt)
      release()
      resolve(code === 0)
    })
  })
}

/** Kills the group when the other end of the guard's input is closed. Returns the call that ends the guard. */
function guardGroup(pid: number): () => void {
  const script = join(rootDir, 'local/src/lifecycle/guard.sh')
  const options = { detached: true, env: { PATH: process.env.PATH }, stdio: ['pipe', 'ignore', 'ignore'] } as const
  const guard = spawn('/bin/sh', [script, String(pid)], { ...options, stdio: [...options.stdio] })
  guard.on('error', () => {})
  guard.stdin.on('error', () => {})
  return () => void guard.stdin.end('ended\n')
}
