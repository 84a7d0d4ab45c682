import type { Logger } from 'pino'

/** An exception of a listener is logged and does not affect the others. */
export function createListeners<Args extends readonly unknown[]>(logger: Logger) {
  const listeners: ((...args: Args) => void)[] = []
  return {
    add: (listener: (...args: Args) => void): void => void listeners.push(listener),
    notify: (...args: Args): void => {
      for (const listener of listeners) {
        try {
          listener(...args)
        } catch (error) {
          logger.error({ err: error }, 'listener failed')
        }
      }
    },
  }
}
