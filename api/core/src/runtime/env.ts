// Settings from environment variables: one schema per process, read once, with all errors reported together. The
// configuration type is derived from the schema.

export type Env = Readonly<Record<string, string | undefined>>

type Kind = 'string' | 'secret' | 'int' | 'boolean' | 'json' | 'choice'

export type Setting<T> = {
  readonly variable: string
  readonly description: string
  readonly kind: Kind
  readonly fallback: T | undefined
  readonly required: boolean
  /** Another variable: required unless that one is set. */
  readonly requiredUnless?: string | undefined
  readonly parse: (text: string) => T
}

export type Schema = Readonly<Record<string, Setting<unknown>>>
export type Infer<S extends Schema> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never }

type Options<T> = { description: string; default?: T }

const setting = <T>(kind: Kind, variable: string, options: Options<T>, parse: (text: string) => T): Setting<T> => ({
  variable,
  description: options.description,
  kind,
  fallback: options.default,
  required: !('default' in options),
  parse,
})

export const text = (variable: string, options: Options<string>): Setting<string> =>
  setting('string', variable, options, (value) => value)

export const optionalText = (variable: string, options: { description: string }): Setting<string | undefined> =>
  setting('string', variable, { ...options, default: undefined }, (value) => value)

export const secret = (variable: string, options: Options<string>): Setting<string> =>
  setting('secret', variable, options, (value) => value)

export const optionalSecret = (variable: string, options: { description: string }): Setting<string | undefined> =>
  setting('secret', variable, { ...options, default: undefined }, (value) => value)

export const int = (variable: string, options: Options<number> & { min?: number; max?: number }): Setting<number> =>
  setting('int', variable, options, (value) => {
    const number = Number(value)
    const { min = 0, max = Number.MAX_SAFE_INTEGER } = options
    if (!Number.isInteger(number) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`)
    }
    return number
  })

export const flag = (variable: string, options: Options<boolean>): Setting<boolean> =>
  setting('boolean', variable, options, (value) => {
    if (/^(true|1|on|yes)$/i.test(value)) return true
    if (/^(false|0|off|no)$/i.test(value)) return false
    throw new Error('must be true or false')
  })

export const choice = <const C extends readonly string[]>(
  variable: string,
  choices: C,
  options: Options<C[number]>,
): Setting<C[number]> =>
  setting('choice', variable, options, (value) => {
    if (!choices.includes(value)) throw new Error(`must be one of ${choices.join(', ')}`)
    return value as C[number]
  })

/** A text parsed by `parse`, whose Error says what to do and contains no secret. */
export const parsed = <T>(
  variable: string,
  options: Options<T> & { secret?: boolean; requiredUnless?: string },
  parse: (value: string) => T,
): Setting<T> => ({
  ...setting(options.secret ? 'secret' : 'string', variable, options, parse),
  requiredUnless: options.requiredUnless,
})

/** A JSON value; `check` validates it or throws an Error that says what to do. */
export const json = <T>(variable: string, options: Options<T>, check: (value: unknown) => T): Setting<T> =>
  setting('json', variable, options, (value) => {
    let parsed: unknown
    try {
      parsed = JSON.parse(value)
    } catch {
      throw new Error('must be JSON')
    }
    return check(parsed)
  })

/** Invalid configuration; `message` lists every error, one per line, without values. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

/**
 * Reads all settings; an empty variable counts as absent.
 * @throws ConfigError with every missing or invalid variable
 */
export function parseEnv<S extends Schema>(schema: S, env: Env): Infer<S> {
  const errors: string[] = []
  const config: Record<string, unknown> = {}
  for (const [name, { variable, required, requiredUnless, fallback, description, parse }] of Object.entries(schema)) {
    const raw = env[variable]
    if (raw === undefined || raw === '') {
      if (required || (requiredUnless !== undefined && !env[requiredUnless]))
        errors.push(`${variable} is missing: ${description}`)
      config[name] = fallback
      continue
    }
    try {
      config[name] = parse(raw)
    } catch (error) {
      errors.push(`${variable} ${error instanceof Error ? error.message : 'is invalid'}: ${description}`)
    }
  }
  if (errors.length > 0) throw new ConfigError(`The configuration is invalid:\n${errors.join('\n')}`)
  return Object.freeze(config) as Infer<S>
}

/** Configuration for a log line, without secrets; other texts are redacted up to the last @. */
export function describeConfig<S extends Schema>(schema: S, config: Infer<S>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).map(([name, { kind }]) => {
      const value = config[name]
      if (kind === 'secret') return [name, value === undefined || value === '' ? value : '***']
      return [name, typeof value === 'string' ? value.replace(/:\/\/.*@/s, '://***@') : value]
    }),
  )
}
