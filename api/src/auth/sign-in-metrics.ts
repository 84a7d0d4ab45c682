import { counter, gauge, histogram } from '@matte/core/runtime/metrics/define'
import type { Registry } from 'prom-client'

const loginOutcomes = ['signed_in', 'mfa_required', 'unverified', 'failed', 'delayed'] as const
const refreshOutcomes = ['renewed', 'repeated', 'reused', 'refused'] as const

/** All of this file; docs/metrics.md lists them. */
export const signInMetrics = {
  logins: counter({
    name: 'matte_logins_total',
    help:
      'Logins by password, by how they ended. `mfa_required`: the password was right, and a code is asked for. ' +
      '`delayed`: too many failures before, so that the password was not judged.',
    labels: { outcome: loginOutcomes },
    reader: 'product',
  }),
  refreshes: counter({
    name: 'matte_token_refreshes_total',
    help:
      'Refresh tokens that came, by what became of them. `repeated`: a second tab or a lost answer. `reused`: a ' +
      'spent token, which ended its session; somebody may have stolen it.',
    labels: { outcome: refreshOutcomes },
    reader: 'product',
  }),
  hashes: gauge({
    name: 'matte_password_hashes',
    help: 'Passwords that are hashed or wait for it; PASSWORD_HASHES_MAX and PASSWORD_HASHES_WAITING_MAX bound them.',
    labels: { state: ['running', 'waiting'] },
    reader: 'saturation',
  }),
  hashesRefused: counter({
    name: 'matte_password_hashes_refused_total',
    help: 'Passwords that were refused because too many waited, when they came or later, in favour of other networks.',
    reader: 'saturation',
  }),
  hashDuration: histogram({
    name: 'matte_password_hash_duration_seconds',
    help: 'Time of one Argon2id hash of a password. Its wait for a turn is not in it.',
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2], // some 10 ms on a core of its own
    reader: 'saturation',
  }),
}

export type SignInMetrics = {
  readonly countLogin: (outcome: (typeof loginOutcomes)[number]) => void
  readonly countRefresh: (outcome: (typeof refreshOutcomes)[number]) => void
  readonly observeHash: (seconds: number) => void
  readonly countRefused: () => void
}

export function createSignInMetrics(registry: Registry): SignInMetrics {
  const logins = signInMetrics.logins.register(registry)
  const refreshes = signInMetrics.refreshes.register(registry)
  const hashesRefused = signInMetrics.hashesRefused.register(registry)
  const hashDuration = signInMetrics.hashDuration.register(registry)
  return {
    countLogin: (outcome) => logins.inc({ outcome }),
    countRefresh: (outcome) => refreshes.inc({ outcome }),
    observeHash: (seconds) => hashDuration.observe(seconds),
    countRefused: () => hashesRefused.inc(),
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
