import type { InferStream } from './infer-stream.ts'

export type IdleStreams = {
  add(stream: InferStream): void
  /** The one used last; those that died idle are dropped. */
  take(): InferStream | undefined
  endAll(): void
}

/** Open streams without a request. Each is ended after `idleMs`, so that none holds up a server that stops. */
export function createIdleStreams(idleMs: number): IdleStreams {
  const idle: { readonly stream: InferStream; readonly timer: NodeJS.Timeout }[] = []
  return {
    add: (stream) => {
      const timer = setTimeout(() => {
        idle.splice(idle.indexOf(entry), 1)
        stream.end()
      }, idleMs)
      const entry = { stream, timer: timer.unref() }
      idle.push(entry)
    },
    take: () => {
      for (let entry = idle.pop(); entry !== undefined; entry = idle.pop()) {
        clearTimeout(entry.timer)
        if (entry.stream.isAlive()) return entry.stream
      }
      return undefined
    },
    endAll: () => {
      for (const { stream, timer } of idle.splice(0)) {
        clearTimeout(timer)
        stream.end()
      }
    },
  }
}
