// The refusal of a request because the session had no password and no code for ten minutes.
import { MatteError } from './error.ts'

/** `code`: of two-factor sign-in. A later version of the service may take further proofs. */
export type ProofField = 'password' | 'code' | (string & {})

export type ProofRequired = MatteError & {
  readonly details: {
    readonly reason: 'proof_required'
    /** Age in seconds up to which a proof counts. */
    readonly maxAgeSeconds: number
    /** Proofs that the person can give. */
    readonly fields: readonly ProofField[]
  }
}

/** True for the error of a request that works after `prove`. */
export const isProofRequired = (error: unknown): error is ProofRequired =>
  error instanceof MatteError && error.code === 'AUTH_FORBIDDEN' && error.details.reason === 'proof_required'
