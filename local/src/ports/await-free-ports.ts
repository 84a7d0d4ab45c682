import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { isPortFree } from './is-port-free.ts'

type WaitOptions = {
  readonly say?: (line: string) => void
  /** The helpers of a server that was killed hold its ports for some seconds at most. */
  readonly timeoutMs?: number
}

/** Waits until nothing listens on these ports. Returns the ports that are still taken after the limit. */
export async function awaitFreePorts(
  ports: readonly number[],
  { say, timeoutMs = 15_000 }: WaitOptions = {},
): Promise<readonly number[]> {
  const begun = performance.now()
  let said = say === undefined
  for (;;) {
    const free = await Promise.all(ports.map(isPortFree))
    const taken = ports.filter((_, index) => !free[index])
    const waitedMs = performance.now() - begun
    if (taken.length === 0 || waitedMs > timeoutMs) return taken
    if (!said && waitedMs > 1_000) {
      say?.(`waiting up to ${timeoutMs / 1_000} s until ${taken.join(', ')} ${taken.length > 1 ? 'are' : 'is'} free …`)
      said = true
    }
    await pause(50)
  }
}

/** Ports on which a socket listens, on any address, by the kernel's own list. */
export function listListeningPorts(): ReadonlySet<number> {
  const lines = ['tcp', 'tcp6'].flatMap((table) => readText(`/proc/net/${table}`).split('\n'))
  const listening = lines.flatMap((line) => {
    const [, local = '', , state] = line.trim().split(/\s+/)
    return state === '0A' ? [Number.parseInt(local.split(':')[1] ?? '', 16)] : []
  })
  return new Set(listening)
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // without IPv6 there is no tcp6
  }
}
