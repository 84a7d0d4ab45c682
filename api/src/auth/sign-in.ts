import { passwordHasher } from '@matte/core/identity/password/password-hasher'
import type { Registry } from 'prom-client'
import { createSignInMetrics } from './sign-in-metrics.ts'

type Bounds = { readonly passwordHashesMax: number; readonly passwordHashesWaitingMax: number }

/** What the routes of signing in share: the pool of hashes, and what is counted. */
export function createSignIn({ passwordHashesMax, passwordHashesWaitingMax }: Bounds, registry: Registry) {
  const hasher = passwordHasher({ atOnce: passwordHashesMax, waitingMax: passwordHashesWaitingMax })
  return { hasher, signIn: createSignInMetrics(registry, hasher.counts) }
}
