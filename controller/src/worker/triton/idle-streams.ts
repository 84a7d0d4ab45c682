import type { InferStream } from './infer-stream.ts'

/** Open streams without a request. Each is ended after `idleMs`, so that none holds up a server that stops. */
export function createIdleStreams(idleMs: number) {
  const idle: { readonly stream: InferStream; readonly timer: NodeJS.Timeout }[] = []
  return {
    add: (stream: InferStream): void => {
      const timer = setTimeout(() => {
        idle.splice(idle.indexOf(entry), 1)
        stream.end()
      }, idleMs)
      const entry = { stream, timer: timer.unref() }
      idle.push(entry)
    },
    /** The one used last; those that died idle are dropped. */
    take: (): InferStream | undefined => {
      for (let entry = idle.pop(); entry !== undefined; entry = idle.pop()) {
        clearTimeout(entry.timer)
        if (entry.stream.isAlive()) return entry.stream
      }
      return undefined
    },
    endAll: (): void => {
      for (const { stream, timer } of idle.splice(0)) {
        clearTimeout(timer)
        stream.end()
      }
    },
  }
}
