// Payments at a simulated time with the sandbox provider, without any process.

import type { Db } from '@matte/core/db/database'
import { sweepParts } from '@matte/core/db/sweep'
import { parseEnv } from '@matte/core/runtime/env'
import { parseMasterKeys } from '@matte/core/runtime/seal'
import { defaultPlans } from '@matte/core/workspace/plan'
import { paymentParts } from '@matte/people/payment/due-payments'
import type { PaymentDeps } from '@matte/people/payment/payment-deps'
import type { PaymentProvider } from '@matte/people/payment/provider/provider'
import { sandboxProvider } from '@matte/people/payment/provider/sandbox/sandbox-provider'
import { signSandboxEvent } from '@matte/people/payment/provider/sandbox/sandbox-signature'
import { receiveEvent } from '@matte/people/payment/receive-event'
import { paymentSettings, withProvider } from '@matte/people/payment/settings'
import { processDb } from '../support/roles.ts'

const masterKeys = parseMasterKeys(`test:${Buffer.alloc(32, 1).toString('base64')}`)
export const hourMs = 60 * 60 * 1_000
export const dayMs = 24 * hourMs

export type Clock = { now: Date }

export type PaymentWorld = {
  readonly deps: PaymentDeps
  readonly clock: Clock
  pass(ms: number): void
  /** Runs everything that is due. */
  due(): Promise<void>
  deliver(body: string): Promise<string>
}

/**
 * Simulated time begins now, because the database clock decides whether credits can be spent. `changed` replaces
 * functions of the sandbox.
 */
export function paymentWorld(db: Db, changed: (clock: Clock) => Partial<PaymentProvider> = () => ({})): PaymentWorld {
  const clock: Clock = { now: new Date() }
  const now = (): Date => clock.now
  const settings = parseEnv(paymentSettings, {})
  const publicUrl = 'http://localhost'
  const replaced = changed(clock)
  const depsOf = (by: Db): PaymentDeps => {
    const provider = { ...sandboxProvider({ db: by, masterKeys, publicUrl, now }), ...replaced }
    return { ...withProvider(settings, { db: by, masterKeys, plans: defaultPlans }, provider), now }
  }
  const deps = depsOf(db)
  return {
    deps,
    clock,
    pass: (ms) => {
      clock.now = new Date(clock.now.getTime() + ms)
    },
    due: async () => {
      const { failures } = await sweepParts(paymentParts(depsOf(processDb('dispatcher', db))))
      for (const { error } of failures) throw error
    },
    deliver: (body) => receiveEvent(deps, Buffer.from(body), signSandboxEvent(masterKeys, body)),
  }
}
