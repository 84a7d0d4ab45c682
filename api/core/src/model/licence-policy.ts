// Which licences of models this install accepts (A118). A model is judged by what its pod reports (`matte.licence`) and
// by what its pool or MODELS_STATIC says of it: both must be accepted.

export type LicencePolicy = {
  /** Undefined: every licence is allowed. */
  readonly allowed?: readonly string[]
  /** Whether a model may be used of which nobody says a licence. */
  readonly takesUnknown: boolean
}

/** Without a list of the operator's. */
const permissive = ['Apache-2.0', 'MIT', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC']
export const defaultLicencePolicy: LicencePolicy = { allowed: permissive, takesUnknown: true }

/** `*`, or identifiers joined by commas. @throws Error whose message says what is wrong. */
export function parseLicencePolicy(text: string): LicencePolicy {
  if (text.trim() === '*') return { takesUnknown: true }
  const allowed = text.split(',').map((part) => part.trim())
  const wrong = allowed.find((one) => !/^[A-Za-z0-9][A-Za-z0-9.+-]*( WITH [A-Za-z0-9.+-]+)?$/.test(one))
  if (wrong !== undefined)
    throw new Error(`must be * or SPDX identifiers joined by commas; ${JSON.stringify(wrong)} is none`)
  return { allowed, takesUnknown: false }
}

/** A model's licence is not accepted. The message is for the operator. */
export class LicenceError extends Error {
  override name = 'LicenceError'
}

/** Undefined: the model may be used. `licences`: what is said of it, from wherever. */
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
    return new LicenceError(`model ${model} names no licence, and only these are allowed: ${listed}`)
  }
  const refused = known.find((licence) => !isAccepted(licence, allowed))
  return refused === undefined
    ? undefined
    : new LicenceError(`model ${model} is licensed under ${refused}, and only these are allowed: ${listed}`)
}

/** AND binds more tightly than OR, as SPDX has it; expressions have no brackets here. */
const isAccepted = (expression: string, allowed: readonly string[]): boolean =>
  expression.split(' OR ').some((choice) => choice.split(' AND ').every((one) => allowed.includes(one)))
