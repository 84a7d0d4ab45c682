// Runs `kubectl port-forward` during a callback.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

type Forward = AsyncDisposable & { readonly port: number }

/** @throws Error if kubectl ends without forwarding */
export async function openForward(args: readonly string[]): Promise<Forward> {
  const child = spawn('kubectl', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const [line] = (await Promise.race([once(createInterface(child.stdout), 'line'), ended])) as [unknown]
  const port = Number(/:(\d+) ->/.exec(String(line))?.[1])
  if (!(port > 0)) throw new Error(`kubectl ${args.join(' ')}: ${line}`)
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      child.kill()
      await ended
    },
  }
}
