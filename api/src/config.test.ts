import { ConfigError, describeConfig } from '@matte/core/runtime/env'
import { describe, expect, it } from 'vitest'
import { configSchema, readConfig } from './config.ts'

const env = {
  PUBLIC_URL: 'https://matte.example.com/',
  DATABASE_URL: 'postgres://matte:hidden@db/matte',
  NATS_URL: 'nats://nats:4222',
  S3_ENDPOINT: 'http://store:8333',
  S3_ACCESS_KEY_ID: 'hidden-id',
  S3_SECRET_ACCESS_KEY: 'hidden-key',
  MASTER_KEYS: `a:${Buffer.alloc(32, 1).toString('base64')},b:${Buffer.alloc(32, 2).toString('base64')}`,
}

describe('readConfig', () => {
  it('fills in defaults, and signs for the public URL unless the store has its own', () => {
    const config = readConfig(env)
    expect(config).toMatchObject({ port: 8080, healthPort: 8081, s3Bucket: 'matte', environment: 'production' })
    expect(config.publicUrl).toBe('https://matte.example.com')
    expect(config.s3PublicEndpoint).toBe('https://matte.example.com')
    const own = readConfig({ ...env, S3_PUBLIC_ENDPOINT: 'https://s3.example.com' })
    expect(own.s3PublicEndpoint).toBe('https://s3.example.com')
    expect([...config.masterKeys.keys()]).toEqual(['a', 'b'])
    expect(config.plans.business?.concurrentTasks).toBe(3)
  })

  it.each([
    ['S3_BUCKET', 'api'],
    ['S3_BUCKET', 'v1-uploads'],
    ['S3_BUCKET', 'files'],
    ['S3_BUCKET', 'docs'],
    ['S3_BUCKET', 'assets'],
    ['S3_BUCKET', 'Has Spaces'],
    ['PUBLIC_URL', 'matte.example.com'],
    ['PUBLIC_URL', 'https://matte.example.com/matte'],
    ['S3_ENDPOINT', 'ftp://store'],
    ['MASTER_KEYS', 'a:c2hvcnQ='],
    ['PLANS', '{"pro":{"concurrentTasks":"many"}}'],
    ['PLANS', 'pro'],
    ['HOST', 'localhost'],
    ['PORT', '70000'],
    ['CORS_ALLOWED_ORIGINS', 'https://a.example.com,nonsense'],
    ['WEBHOOK_DENIED_NETWORKS', '10.0.0.0/8,nonsense'],
    ['WEBHOOK_DENIED_NETWORKS', '10.0.0.0'],
    ['NATS_STREAM_PREFIX', 'a.b'],
    ['MATTE_ENV', 'staging'],
    ['RESULTS_DELIVERY', 'mail'],
    ['TASKS_MAX_WAIT', '51'],
    ['LEGACY_ENABLED', 'perhaps'],
    ['LEGACY_SUNSET', 'next year'],
    ['LEGACY_SUNSET', '2027-13-01'],
  ])('refuses %s=%s by name', (name, value) => {
    expect(() => readConfig({ ...env, [name]: value })).toThrow(ConfigError)
    expect(() => readConfig({ ...env, [name]: value })).toThrow(name)
  })

  it('splits denied networks at commas or spaces, as the dispatcher does', () => {
    const config = readConfig({ ...env, WEBHOOK_DENIED_NETWORKS: '10.0.0.0/8 fd00::/8,192.0.2.0/24' })
    expect(config.webhookDeniedNetworks).toEqual(['10.0.0.0/8', 'fd00::/8', '192.0.2.0/24'])
  })

  it('delivers results itself if the credentials are temporary, and refuses presigned links', () => {
    expect(readConfig(env).resultsDelivery).toBe('presign')
    const temporary = { ...env, S3_SESSION_TOKEN: 'hidden-token' }
    expect(readConfig(temporary).resultsDelivery).toBe('gateway')
    expect(readConfig({ ...temporary, RESULTS_DELIVERY: 'gateway' }).resultsDelivery).toBe('gateway')
    expect(() => readConfig({ ...temporary, RESULTS_DELIVERY: 'presign' })).toThrow(/RESULTS_DELIVERY/)
    expect(JSON.stringify(describeConfig(configSchema, readConfig(temporary)))).not.toContain('hidden')
  })

  it('reports all errors at once', () => {
    expect(() => readConfig({})).toThrow(/PUBLIC_URL[\s\S]*DATABASE_URL[\s\S]*NATS_URL[\s\S]*MASTER_KEYS/)
  })

  it('is described without secrets', () => {
    const config = readConfig(env)
    const text = JSON.stringify(describeConfig(configSchema, config))
    expect(text).not.toContain('hidden')
    expect(text).not.toContain(Buffer.alloc(32, 1).toString('base64').slice(0, 8))
  })
})
