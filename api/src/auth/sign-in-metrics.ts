import { counter, gauge, histogram } from '@matte/core/runtime/metrics/define'
import { passwordHasher } from '@matte/people/identity/password/password-hasher'
import type { Registry } from 'prom-client'

const loginOutcomes = ['signed_in', 'mfa_required', 'unverified', 'failed', 'delayed'] as const
const refreshOutcomes = ['renewed', 'repeated', 'reused', 'refused'] as const

export const signInMetrics = {
  logins: counter({
    name: 'matte_logins_total',
    help:
      'Logins by password and outcome. `mfa_required`: the password was right and a code is required. ' +
      '`delayed`: not checked, after too many failures.',
    labels: { outcome: loginOutcomes },
    reader: 'product',
  }),
  refreshes: counter({
    name: 'matte_token_refreshes_total',
    help:
      'Refresh requests by outcome. `repeated`: a second tab or a lost response. `reused`: a spent token, ' +
      'possibly stolen; its session was ended.',
    labels: { outcome: refreshOutcomes },
    reader: 'product',
  }),
  hashes: gauge({
    name: 'matte_password_hashes',
    help: 'Password hashes running or waiting; bounded by PASSWORD_HASHES_MAX and PASSWORD_HASHES_WAITING_MAX.',
    labels: { state: ['running', 'waiting'] },
    reader: 'saturation',
  }),
  hashesRefused: counter({
    name: 'matte_password_hashes_refused_total',
    help: 'Password hashes refused because too many waited, on arrival or later in favour of other networks.',
    reader: 'saturation',
  }),
  hashDuration: histogram({
    name: 'matte_password_hash_duration_seconds',
    help: 'Time of one Argon2id hash of a password, without its wait.',
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2], // about 10 ms on an idle core
    reader: 'saturation',
  }),
}

export type SignInMetrics = ReturnType<typeof createSignInMetrics>

function createSignInMetrics(registry: Registry) {
  const logins = signInMetrics.logins.register(registry)
  const refreshes = signInMetrics.refreshes.register(registry)
  const hashesRefused = signInMetrics.hashesRefused.register(registry)
  const hashDuration = signInMetrics.hashDuration.register(registry)
  return {
    countLogin: (outcome: (typeof loginOutcomes)[number]): void => logins.inc({ outcome }),
    countRefresh: (outcome: (typeof refreshOutcomes)[number]): void => refreshes.inc({ outcome }),
    observeHash: (seconds: number): void => hashDuration.observe(seconds),
    countRefused: (): void => hashesRefused.inc(),
  }
}

type Counts = { readonly running: number; readonly waiting: number }

export function gaugeHashes(registry: Registry, counts: () => Counts): void {
  signInMetrics.hashes.register(registry, (metric) => {
    const { running, waiting } = counts()
    metric.set({ state: 'running' }, running)
    metric.set({ state: 'waiting' }, waiting)
  })
}

type Bounds = { readonly passwordHashesMax: number; readonly passwordHashesWaitingMax: number }

export function createSignIn({ passwordHashesMax, passwordHashesWaitingMax }: Bounds, registry: Registry) {
  const signIn = createSignInMetrics(registry)
  const { observeHash, countRefused } = signIn
  const bounds = { atOnce: passwordHashesMax, waitingMax: passwordHashesWaitingMax }
  const hasher = passwordHasher({ ...bounds, observeHash, countRefused })
  gaugeHashes(registry, hasher.counts)
  return { hasher, signIn }
}
