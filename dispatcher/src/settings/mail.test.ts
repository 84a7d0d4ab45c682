import { ConfigError, parseEnv } from '@matte/core/runtime/env'
import { describe, expect, it } from 'vitest'
import { mailSettings, readMailServer } from './mail.ts'

const from = { MAIL_FROM: 'no-reply@example.com' }
const read = (env: Record<string, string>) => readMailServer(parseEnv(mailSettings, env))

describe('the mail server', () => {
  it('is undefined without SMTP_URL', () => {
    expect(read({})).toBeUndefined()
  })

  it.each([
    ['smtp://mail.example.com', { host: 'mail.example.com', port: 587, implicitTls: false, tls: 'required' }],
    ['smtps://mail.example.com', { port: 465, implicitTls: true }],
    ['smtp://mail.example.com:2525', { port: 2_525, login: undefined }],
    ['smtp://us%40er:p%3Ass@mail.example.com', { login: { user: 'us@er', pass: 'p:ss' } }],
    ['smtp://127.0.0.1:25', { tls: 'opportunistic' }],
    ['smtp://localhost:25', { tls: 'opportunistic' }],
    ['smtp://[::1]:25', { host: '::1', tls: 'opportunistic' }],
    ['smtp://127.evil.example', { tls: 'required' }],
  ])('is read from %s', (url, server) => {
    expect(read({ ...from, SMTP_URL: url })).toMatchObject(server)
  })

  it('follows SMTP_TLS', () => {
    expect(read({ ...from, SMTP_URL: 'smtp://127.0.0.1', SMTP_TLS: 'required' })).toMatchObject({ tls: 'required' })
    expect(read({ ...from, SMTP_URL: 'smtp://a.example', SMTP_TLS: 'off' })).toMatchObject({ tls: 'off' })
  })

  it('needs a sender', () => {
    expect(() => read({ SMTP_URL: 'smtp://mail.example.com' })).toThrow(ConfigError)
  })

  it.each([
    'http://mail.example.com',
    'mail.example.com:587',
    'smtp://u@mail.example.com',
    'smtp://mail.example.com/x',
  ])('rejects %s without showing the value', (url) => {
    expect(() => read({ ...from, SMTP_URL: url })).toThrow(/^The configuration is invalid:\nSMTP_URL must/)
  })

  it('rejects an SMTP_CA_FILE without a certificate', () => {
    const env = { ...from, SMTP_URL: 'smtp://mail.example.com' }
    expect(() => read({ ...env, SMTP_CA_FILE: '/no/such/file' })).toThrow('SMTP_CA_FILE cannot be read')
    expect(() => read({ ...env, SMTP_CA_FILE: import.meta.filename })).toThrow('SMTP_CA_FILE has no certificate')
  })
})

describe('the sender', () => {
  it.each([
    ['a@example.com', { name: '', address: 'a@example.com' }],
    ['Matte <a@example.com>', { name: 'Matte', address: 'a@example.com' }],
    ['"Matte, Inc." <a@example.com>', { name: 'Matte, Inc.', address: 'a@example.com' }],
  ])('is read from %s', (text, sender) => {
    expect(read({ SMTP_URL: 'smtp://mail.example.com', MAIL_FROM: text })?.from).toEqual(sender)
  })

  it.each(['Matte', 'a@b@c', '<a@example.com', 'a@example.com, b@example.com'])('rejects %s', (text) => {
    expect(() => read({ SMTP_URL: 'smtp://mail.example.com', MAIL_FROM: text })).toThrow('MAIL_FROM must')
  })
})
