// Lock of an installation: a listening abstract Unix socket, which the kernel removes when its process ends. A caller
// that finds it taken reads the holder's name from it.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, realpathSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'

type LockOptions = {
  readonly name: 'make up' | 'make down'
  readonly say: (line: string) => void
  /** Longest wait for a `make down`, above its limit for the slowest process. */
  readonly timeoutMs?: number
}

/** Waits for a `make down`, which ends soon; returns the release. @throws Error while a `make up` runs */
export async function takeLock(runDir: string, { name, say, timeoutMs = 60_000 }: LockOptions): Promise<() => void> {
  mkdirSync(runDir, { recursive: true })
  const path = `\0matte-${createHash('sha256').update(realpathSync(runDir)).digest('hex')}`
  const begun = performance.now()
  for (let said = false; ; await pause(100)) {
    const server = await listen(path, `${name} (process ${process.pid})`)
    if (server) return () => void server.close()
    const holder = await readHolder(path)
    const waitedMs = performance.now() - begun
    if (holder.startsWith('make up') || waitedMs > timeoutMs) {
      throw new Error(`${holder} is already running here: wait for its end.`)
    }
    if (!said && waitedMs > 1_000) {
      say(`waiting up to ${timeoutMs / 1_000} s for ${holder} to end …`)
      said = true
    }
  }
}

/** Undefined when another process holds the lock. */
async function listen(path: string, holder: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.on('error', () => {}).end(holder)).listen(path)
  return await once(server, 'listening').then(
    () => server,
    (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? undefined : Promise.reject(error)),
  )
}

async function readHolder(path: string): Promise<string> {
  const socket = connect(path)
  socket.setTimeout(2_000, () => socket.destroy())
  const holder = await text(socket).catch(() => '') // released a moment ago, or paused
  return holder || 'another make'
}
