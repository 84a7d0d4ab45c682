import { MatteError } from 'matte-client/app'

/** Failures without an answer of the service get a code too. */
export const toMatteError = (error: unknown): MatteError =>
  error instanceof MatteError
    ? error
    : new MatteError('CLIENT_INTERNAL', error instanceof Error ? error.message : String(error), { cause: error })
