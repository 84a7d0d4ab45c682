import type { AttemptError } from '@matte/core/webhook/attempt-outcome'

/** An attempt that cannot go on. The class is recorded; `cause` is for the operator's log only. */
export class AttemptFailure extends Error {
  override name = 'AttemptFailure'
  readonly error: AttemptError
  constructor(error: AttemptError, cause?: unknown) {
    super(error, { cause })
    this.error = error
  }
}
