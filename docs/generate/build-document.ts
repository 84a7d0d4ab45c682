import { readConfig } from '@matte/api/config'
import { buildServices } from '@matte/api/services'
import { writeOut } from './resolve-document.ts'

/**
 * The OpenAPI document of this checkout's API. Builds the application without starting it: its addresses are invalid,
 * and it opens no connection.
 */
export async function buildServedDocument(): Promise<object> {
  const config = readConfig({
    PUBLIC_URL: 'https://matte.invalid',
    DATABASE_URL: 'postgres://nobody@matte.invalid/matte',
    NATS_URL: 'nats://matte.invalid',
    S3_ENDPOINT: 'http://matte.invalid',
    S3_ACCESS_KEY_ID: 'nobody',
    S3_SECRET_ACCESS_KEY: 'nothing',
    MASTER_KEYS: `none:${Buffer.alloc(32).toString('base64')}`,
    LOG_LEVEL: 'silent',
  })
  const { app } = await buildServices(config)
  return app.swagger()
}

/** The same document with references of each operation resolved. */
export const buildDocument = async (): Promise<object> => writeOut(await buildServedDocument())
