// The proof that the service asks the person for: one dialog for all requests that wait for it.
import type { ProofField, ProofRequired } from 'matte-client/app'

export type ProofRequest = {
  /** Proofs that the person can give. */
  readonly fields: readonly ProofField[]
  /** Ends the dialog. True: the requests are sent again. */
  readonly settle: (isProved: boolean) => void
}

export type ProofRequests = {
  readonly current: () => ProofRequest | undefined
  readonly ask: (required: ProofRequired) => Promise<boolean>
}

export function createProofRequests(changed: () => void): ProofRequests {
  let current: (ProofRequest & { readonly done: Promise<boolean> }) | undefined

  function open(fields: readonly ProofField[]): NonNullable<typeof current> {
    let settle: ProofRequest['settle'] = () => undefined
    const done = new Promise<boolean>((resolve) => {
      settle = (isProved) => {
        current = undefined
        changed()
        resolve(isProved)
      }
    })
    return { fields, settle, done }
  }

  return {
    current: () => current,
    ask: ({ details }) => {
      if (current === undefined) {
        current = open(details.fields)
        changed()
      }
      return current.done
    },
  }
}
