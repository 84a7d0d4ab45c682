import { useRef } from 'react'

export type RequestKeys = {
  /** The same key for the same body until `forget`. */
  readonly keyFor: (body: unknown) => string
  /** After a success: the next request is meant to create something new. */
  readonly forget: () => void
}

/** Idempotency keys of one form: pressing again after a lost answer creates and charges nothing twice. */
export function useRequestKey(): RequestKeys {
  const keys = useRef(new Map<string, string>())
  return {
    keyFor: (body) => {
      const text = JSON.stringify(body)
      const key = keys.current.get(text) ?? crypto.randomUUID()
      keys.current.set(text, key)
      return key
    },
    forget: () => keys.current.clear(),
  }
}
