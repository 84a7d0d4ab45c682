// Handles account requests, one transaction each; any replica can handle one.
//
// A stranger can register an address before or after its owner, so each link works only with the password of the
// registration that sent it. A second registration with another password, while a link may be in the mailbox,
// removes password, name and referral code. After a day without a click, the newer registration replaces the older one.
import { foldAddress } from '@matte/core/address'
import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { allowMail, allowVerificationMail } from '../../mail/mail-limits.ts'
import { queueMail } from '../../mail/mail-queue.ts'
import {
  type AccountRequest,
  claimRequest,
  delayVerifications,
  listDueRequests,
  postponeRequest,
} from './account-requests.ts'
import { canHaveToken, countLiveTokens, createMailToken, deleteMailTokens } from './mail-token.ts'

type MayRegister = (tx: Db, email: string) => Promise<boolean>

type RequestDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly mayRegister: MayRegister
  readonly appUrl: string
  /** Limit of verification mails per minute to all addresses; 0: unlimited. */
  readonly verificationsPerMinute: number
  readonly onError: (error: unknown) => void
}

const requestsAtOnce = 100

/** Handles due requests; returns how many were handled and how many were postponed. */
export async function processAccountRequests(deps: RequestDeps, signal: AbortSignal) {
  const requests = await listDueRequests(deps.db, requestsAtOnce)
  const counts = { done: 0, postponed: 0 }
  let isFull = false
  for (const request of requests) {
    if (signal.aborted) break
    if (isFull && request.kind !== 'reset-password') continue
    try {
      await deps.db.transaction().execute(async (tx) => {
        if (await claimRequest(tx, request.id)) await handlers[request.kind](tx, deps, request)
      })
      counts.done += 1
    } catch (error) {
      isFull ||= error instanceof VerificationLimitReached
      if (!(error instanceof VerificationLimitReached)) {
        deps.onError(error)
        await postponeRequest(deps.db, request.id)
      }
      counts.postponed += 1
    }
  }
  if (isFull) await delayVerifications(deps.db)
  return counts
}

class VerificationLimitReached extends Error {
  override name = 'VerificationLimitReached'
}

type Handler = (tx: Db, deps: RequestDeps, request: AccountRequest) => Promise<void>

const handlers: Readonly<Record<AccountRequest['kind'], Handler>> = {
  register,
  'verify-email': async (tx, deps, { email }) => {
    const user = await lockAccount(tx, email)
    if (user?.email_verified_at === null && user.disabled_at === null) await sendVerification(tx, deps, user)
  },
  'reset-password': async (tx, deps, { email }) => {
    const user = await lockAccount(tx, email)
    if (user !== undefined) await sendReset(tx, deps, user)
  },
}

async function register(tx: Db, deps: RequestDeps, request: AccountRequest): Promise<void> {
  if (await registerOnce(tx, deps, request)) return
  // A concurrent transaction registered the address after the lookup; the second lookup finds the account.
  if (await registerOnce(tx, deps, request)) return
  throw new Error('the address has an account that no lookup finds')
}

async function registerOnce(tx: Db, deps: RequestDeps, request: AccountRequest): Promise<boolean> {
  const user = await lockAccount(tx, request.email)
  if (user?.disabled_at) return true
  if (user?.email_verified_at) {
    await mailExistingOwner(tx, deps, user)
    return true
  }
  if (!(await deps.mayRegister(tx, request.email))) return true
  const account = user === undefined ? await insertAccount(tx, request) : await registerAgain(tx, user, request)
  if (account === undefined) return false
  await sendVerification(tx, deps, { ...account, password_hash: request.password_hash })
  return true
}

type Account = NonNullable<Awaited<ReturnType<typeof lockAccount>>>

const accountColumns = ['id', 'email', 'password_hash', 'email_verified_at', 'disabled_at'] as const

function lockAccount(tx: Db, email: string) {
  return tx
    .selectFrom('app_user')
    .select(accountColumns)
    .where('email_key', '=', foldAddress(email))
    .where('erased_at', 'is', null)
    .forUpdate()
    .executeTakeFirst()
}

const valuesOf = ({ email, password_hash, name, referral_code, ip_address, locale }: AccountRequest) => ({
  ...{ email, email_key: foldAddress(email), password_hash, name, referral_code },
  registered_from: ip_address,
  ...(locale !== null && { locale }),
})

function insertAccount(tx: Db, request: AccountRequest): Promise<Account | undefined> {
  return tx
    .insertInto('app_user')
    .values(valuesOf(request))
    .onConflict((conflict) => conflict.column('email_key').where('email_key', 'is not', null).doNothing())
    .returning(accountColumns)
    .executeTakeFirst()
}

/** Registers an unverified account again; see the head of this file. Mails go to the stored spelling of the address. */
async function registerAgain(tx: Db, user: Account, request: AccountRequest): Promise<Account> {
  if (request.password_hash === user.password_hash) return user
  const isContested = (await countLiveTokens(tx, { purpose: 'verify-email', userId: user.id })) > 0
  const cleared = { password_hash: null, name: null, referral_code: null, registered_from: null }
  const account = tx.updateTable('app_user').where('id', '=', user.id)
  if (!isContested) {
    // A link in the mailbox of the replaced spelling must not set a password.
    await deleteMailTokens(tx, 'reset-password', user.id)
    // The key is cleared first: a trigger removes it if only the spelling changes (0026-address-key.ts).
    await account.set({ email_key: null }).execute()
  }
  return account
    .set(isContested ? cleared : valuesOf(request))
    .returning(accountColumns)
    .executeTakeFirstOrThrow()
}

/** Tells the owner of a verified account about a registration attempt, at most once an hour. */
async function mailExistingOwner(tx: Db, { masterKeys, appUrl }: RequestDeps, { id, email }: Account): Promise<void> {
  if (!(await allowMail(tx, 'noted', email))) return
  await queueMail(tx, masterKeys, {
    template: 'already-registered',
    data: { loginUrl: `${appUrl}/login`, resetUrl: `${appUrl}/forgot-password` },
    ...{ key: null, to: email, userId: id },
  })
}

async function sendVerification(tx: Db, deps: RequestDeps, account: Account): Promise<void> {
  const { masterKeys, appUrl, verificationsPerMinute } = deps
  const { id, email } = account
  const token = await createAskedToken(tx, 'verify-email', account)
  if (token === undefined) return
  if (!(await allowVerificationMail(tx, verificationsPerMinute))) throw new VerificationLimitReached()
  const data = { url: `${appUrl}/verify-email?token=${token}` }
  await queueMail(tx, masterKeys, { template: 'verify-email', data, key: null, to: email, userId: id })
}

async function sendReset(tx: Db, deps: RequestDeps, account: Account): Promise<void> {
  const { id, email, disabled_at } = account
  const token = disabled_at === null ? await createAskedToken(tx, 'reset-password', account) : undefined
  if (token === undefined) return
  const data = { url: `${deps.appUrl}/reset-password?token=${token}` }
  await queueMail(tx, deps.masterKeys, { template: 'reset-password', data, key: null, to: email, userId: id })
}

/** Returns undefined if the account or the address has reached a limit; no mail is sent then. */
async function createAskedToken(
  tx: Db,
  purpose: 'verify-email' | 'reset-password',
  { id: userId, email, password_hash }: Account,
): Promise<string | undefined> {
  const wanted = { purpose, userId, ...(purpose === 'verify-email' && { passwordHash: password_hash }) }
  const isFree = (await canHaveToken(tx, wanted)) && (await allowMail(tx, 'asked', email))
  return isFree ? createMailToken(tx, wanted) : undefined
}
