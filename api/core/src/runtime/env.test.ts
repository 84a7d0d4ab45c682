import { describe, expect, it } from 'vitest'
import { choice, describeConfig, flag, int, json, optionalText, parseEnv, secret, text } from './env.ts'

const schema = {
  port: int('PORT', { default: 8080, max: 65_535, description: 'port to listen on' }),
  url: secret('DATABASE_URL', { description: 'where the database is' }),
  name: text('NAME', { default: 'matte', description: 'a name' }),
  level: choice('LEVEL', ['info', 'warn'] as const, { default: 'info', description: 'least level' }),
  on: flag('ON', { default: false, description: 'a switch' }),
  list: json('LIST', { default: [] as unknown[], description: 'a list' }, (value) => {
    if (!Array.isArray(value)) throw new Error('must be a list')
    return value
  }),
  otel: optionalText('OTEL', { description: 'an exporter' }),
}

describe('parseEnv', () => {
  it('applies defaults, treats empty as absent, and freezes the result', () => {
    const config = parseEnv(schema, { DATABASE_URL: 'x', PORT: '', ON: 'yes', LIST: '[1]' })
    expect(config).toEqual({ port: 8080, url: 'x', name: 'matte', level: 'info', on: true, list: [1], otel: undefined })
    expect(Object.isFrozen(config)).toBe(true)
  })

  it('reports every error at once, without values', () => {
    const faulty = { PORT: '70000', LEVEL: 'loud', ON: 'perhaps', LIST: '{"pass": "hunter2"}' }
    expect(() => parseEnv(schema, faulty)).toThrow(
      [
        'The configuration is invalid:',
        'PORT must be a whole number from 0 to 65535: port to listen on',
        'DATABASE_URL is missing: where the database is',
        'LEVEL must be one of info, warn: least level',
        'ON must be true or false: a switch',
        'LIST must be a list: a list',
      ].join('\n'),
    )
  })
})

describe('describeConfig', () => {
  it('redacts secrets, and passwords in URLs', () => {
    const config = parseEnv(schema, { DATABASE_URL: 'postgres://u:p@h/d', NAME: 'nats://u:p@h:4222' })
    expect(describeConfig(schema, config)).toMatchObject({ url: '***', name: 'nats://***@h:4222', port: 8080 })
  })
})
