import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { bundle } from './bundle.fixtures.ts'

const limitBytes = 12 * 1_024
const webhookLimitBytes = 2 * 1_024

it('takes at most 12 KB of a bundle for browsers, without an import', async () => {
  const code = await bundle('*')
  expect(gzipSync(code).length).toBeLessThanOrEqual(limitBytes)
  expect(code).toContain('CLIENT_INPUT')
  expect(code).not.toMatch(/["'`]node:|^import|\bimport\(/m)
})

it('takes less than 2 KB for verifyWebhook alone', async () => {
  const code = await bundle('{ verifyWebhook }')
  expect(gzipSync(code).length).toBeLessThan(webhookLimitBytes)
  expect(code).not.toContain('uploads/presign')
})
