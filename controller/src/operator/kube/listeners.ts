import type { Logger } from 'pino'

type Listeners<Args extends readonly unknown[]> = {
  add(listener: (...args: Args) => void): void
  notify(...args: Args): void
}

/** What one listener throws is logged, and does not keep the others from being called. */
export function createListeners<Args extends readonly unknown[]>(logger: Logger): Listeners<Args> {
  const listeners: ((...args: Args) => void)[] = []
  return {
    add: (listener) => void listeners.push(listener),
    notify: (...args) => {
      for (const listener of listeners) {
        try {
          listener(...args)
        } catch (error) {
          logger.error({ err: error }, 'a listener failed')
        }
      }
    },
  }
}
