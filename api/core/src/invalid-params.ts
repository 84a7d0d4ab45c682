import { type Details, MatteError } from './error.ts'

/** `path` is a JSON pointer into the request, such as `/body/imageUrl`. */
export type Issue = { readonly path: string; readonly message: string }

type More = {
  readonly message?: string
  readonly details?: Details
  readonly cause?: unknown
}

export const invalidParams = (issues: readonly Issue[], { message, details, cause }: More = {}): MatteError =>
  new MatteError('INVALID_PARAMS', message ?? 'The request has invalid parameters; see details.issues.', {
    details: { issues, ...details },
    cause,
  })

export const invalidParam = (path: string, message: string): MatteError => invalidParams([{ path, message }])
