// Licences that this installation accepts. Both the licence reported by the pod (`matte.licence`) and the one in the
// pool or MODELS_STATIC must be accepted.

export type LicencePolicy = {
  readonly allowed?: readonly string[]
  /** Whether a model without a known licence may be used. */
  readonly takesUnknown: boolean
}

const permissive = ['Apache-2.0', 'MIT', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC']
export const defaultLicencePolicy: LicencePolicy = { allowed: permissive, takesUnknown: true }

/** `*`, or identifiers joined by commas. @throws Error */
export function parseLicencePolicy(text: string): LicencePolicy {
  if (text.trim() === '*') return { takesUnknown: true }
  const allowed = text.split(',').map((part) => part.trim())
  const wrong = allowed.find((one) => !/^[A-Za-z0-9][A-Za-z0-9.+-]*( WITH [A-Za-z0-9.+-]+)?$/.test(one))
  if (wrong !== undefined)
    throw new Error(`must be * or SPDX identifiers joined by commas; ${JSON.stringify(wrong)} is invalid`)
  return { allowed, takesUnknown: false }
}

/** The licence is not accepted; the message is for the operator. */
export class LicenceError extends Error {
  override name = 'LicenceError'
}

/** Undefined: accepted. `licences`: every stated licence of the model. */
export function judgeLicences(
  { allowed, takesUnknown }: LicencePolicy,
  model: string,
  licences: readonly (string | undefined)[],
): LicenceError | undefined {
  if (allowed === undefined) return undefined
  const listed = allowed.join(', ')
  const known = licences.filter((licence) => licence !== undefined)
  if (known.length === 0) {
    if (takesUnknown) return undefined
    return new LicenceError(`model ${model} states no licence, and only these are allowed: ${listed}`)
  }
  const refused = known.find((licence) => !isAccepted(licence, allowed))
  return refused === undefined
    ? undefined
    : new LicenceError(`model ${model} is licensed under ${refused}, and only these are allowed: ${listed}`)
}

/** AND binds more tightly than OR, as in SPDX; brackets are not supported. */
const isAccepted = (expression: string, allowed: readonly string[]): boolean =>
  expression.split(' OR ').some((choice) => choice.split(' AND ').every((one) => allowed.includes(one)))
