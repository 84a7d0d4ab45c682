import type { Db } from '../../db/database.ts'

/** What an account has to know of a subscription; payments answer it. */
export type Subscription = {
  readonly status: string
  readonly period: { readonly start: Date; readonly end: Date }
  /** It will be charged again at the end of the period. */
  readonly renews: boolean
}

/** Undefined: the workspace has none. */
export type FindSubscription = (db: Db, workspaceId: string) => Promise<Subscription | undefined>
