// TOTP codes of people in tests.
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'
import { TOTP } from 'otpauth'
import type { AppClient } from '../app-client.ts'
import { password as common } from './given-password.ts'

export const codeOf = (secret: string, atMs: number): string => new TOTP({ secret }).generate({ timestamp: atMs })

export type SecondFactor = {
  readonly secret: string
  readonly recoveryCodes: readonly string[]
  /** An unused code for the database's time. */
  nextCode(): Promise<string>
  /** A code that is wrong for all steps around now. */
  wrongCode(): Promise<string>
}

type Setup = { readonly secret: string; readonly otpauthUrl: string; readonly qrCodeSvg: string }

/** Enables two-factor sign-in, as an app does. `password` defaults to that of `givePassword`. */
export async function enableSecondFactor(db: Db, client: AppClient, password = common): Promise<SecondFactor> {
  const { secret } = (await client.call<Setup>('POST', '/auth/2fa/setup', { body: { password } })).data
  const code = codeOf(secret, await databaseTime(db))
  const body = { password, code }
  const enabled = await client.call<{ recoveryCodes: string[] }>('POST', '/auth/2fa/enable', { body })
  return {
    secret,
    recoveryCodes: enabled.data.recoveryCodes,
    // Moves the last used step back instead of waiting for half a minute.
    nextCode: async () => {
      await sql`update two_factor set last_step = last_step - 5`.execute(db)
      return codeOf(secret, await databaseTime(db))
    },
    wrongCode: async () => {
      const now = await databaseTime(db)
      const right = [-2, -1, 0, 1, 2].map((steps) => codeOf(secret, now + steps * 30_000))
      return ['000000', '111111', '222222', '333333', '444444', '555555'].find((text) => !right.includes(text)) ?? ''
    },
  }
}

export async function databaseTime(db: Db): Promise<number> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
  return rows[0]?.now.getTime() ?? 0
}
