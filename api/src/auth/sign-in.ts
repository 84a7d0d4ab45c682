import { passwordHasher } from '@matte/core/identity/password/password-hasher'
import type { Registry } from 'prom-client'
import { createSignInMetrics, gaugeHashes } from './sign-in-metrics.ts'

type Bounds = { readonly passwordHashesMax: number; readonly passwordHashesWaitingMax: number }

/** What the routes of signing in share: the pool of hashes, and what is counted. */
export function createSignIn({ passwordHashesMax, passwordHashesWaitingMax }: Bounds, registry: Registry) {
  const signIn = createSignInMetrics(registry)
  const { observeHash, countRefused } = signIn
  const bounds = { atOnce: passwordHashesMax, waitingMax: passwordHashesWaitingMax }
  const hasher = passwordHasher({ ...bounds, observeHash, countRefused })
  gaugeHashes(registry, hasher.counts)
  return { hasher, signIn }
}
