// Does what was asked for without signing in (account-requests.ts), one request a transaction: accounts, tokens and
// mails, or nothing where the address has no account. If the process dies half-way, another does it.
//
// Until an address is verified, a stranger can register it, before or after its owner. So each link works only with
// the password of the registration that sent it (D92, verify-address.ts). A second registration with another
// password, while a link may be in the mailbox, leaves the account itself without a password, a name and a referral
// code: nothing says which of the two is the owner's. After a day without a click the newer registration replaces the
// older one.
import { foldAddress } from '../../address.ts'
import type { Db } from '../../db/database.ts'
import { takeMailRoom, takeVerificationRoom } from '../../mail/mail-room.ts'
import { queueMail } from '../../mail/queue-mail.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import {
  type AccountRequest,
  delayVerifications,
  listDueRequests,
  postponeRequest,
  takeRequest,
} from './due-requests.ts'
import { canHaveToken, countLiveTokens } from './live-tokens.ts'
import { createMailToken, deleteMailTokens } from './mail-token.ts'

/** Whether an address may be registered: by anybody, or by those invited. */
type MayRegister = (tx: Db, email: string) => Promise<boolean>

type RequestDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly mayRegister: MayRegister
  /** Where the links in mails lead. */
  readonly appUrl: string
  /** Most mails a minute that verify an address, to all addresses together; 0: no bound. */
  readonly verificationsPerMinute: number
  readonly onError: (error: unknown) => void
}

/** Of one pass; the next begins at once when there are more. */
const requestsAtOnce = 100

/** Does what is due; returns how many requests were done, and how many have to wait. */
export async function doAccountRequests(deps: RequestDeps, signal: AbortSignal) {
  const requests = await listDueRequests(deps.db, requestsAtOnce)
  const counts = { done: 0, postponed: 0 }
  let isFull = false
  for (const request of requests) {
    if (signal.aborted) break
    if (isFull && request.kind !== 'reset-password') continue
    try {
      await deps.db.transaction().execute(async (tx) => {
        if (await takeRequest(tx, request.id)) await handlers[request.kind](tx, deps, request)
      })
      counts.done += 1
    } catch (error) {
      isFull ||= error instanceof NoVerificationRoom
      // One that cannot be done must not stop those behind it.
      if (!(error instanceof NoVerificationRoom)) {
        deps.onError(error)
        await postponeRequest(deps.db, request.id)
      }
      counts.postponed += 1
    }
  }
  if (isFull) await delayVerifications(deps.db)
  return counts
}

/** The minute's share of mails to verify an address was sent; the request waits. */
class NoVerificationRoom extends Error {
  override name = 'NoVerificationRoom'
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
  // Another transaction registered the address after the lookup, so a second lookup finds the account.
  if (await registerOnce(tx, deps, request)) return
  throw new Error('an account that no lookup finds has this address')
}

/** False: the address was taken between the lookup and the insert. */
async function registerOnce(tx: Db, deps: RequestDeps, request: AccountRequest): Promise<boolean> {
  const user = await lockAccount(tx, request.email)
  if (user?.disabled_at) return true
  if (user?.email_verified_at) {
    await tellOwner(tx, deps, user)
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

const valuesOf = ({ email, password_hash, name, referral_code, ip_address }: AccountRequest) => ({
  ...{ email, email_key: foldAddress(email), password_hash, name, referral_code },
  registered_from: ip_address,
})

function insertAccount(tx: Db, request: AccountRequest): Promise<Account | undefined> {
  return tx
    .insertInto('app_user')
    .values(valuesOf(request))
    .onConflict((conflict) => conflict.column('email_key').where('email_key', 'is not', null).doNothing())
    .returning(accountColumns)
    .executeTakeFirst()
}

/**
 * The head of this file says why. The same password for the same address has the same hash (`registrationSalt`). The
 * returned address is the stored one, which mails go to.
 */
async function registerAgain(tx: Db, user: Account, request: AccountRequest): Promise<Account> {
  if (request.password_hash === user.password_hash) return user
  const isContested = (await countLiveTokens(tx, { purpose: 'verify-email', userId: user.id })) > 0
  const nobodys = { password_hash: null, name: null, referral_code: null, registered_from: null }
  const account = tx.updateTable('app_user').where('id', '=', user.id)
  if (!isContested) {
    // A link in the mailbox of a replaced spelling must not set a password.
    await deleteMailTokens(tx, 'reset-password', user.id)
    // First without a key: a trigger removes the key if only the spelling changes (0026-address-key.ts).
    await account.set({ email_key: null }).execute()
  }
  return account
    .set(isContested ? nobodys : valuesOf(request))
    .returning(accountColumns)
    .executeTakeFirstOrThrow()
}

/** At most once an hour, from a budget that no link needs. */
async function tellOwner(tx: Db, { masterKeys, appUrl }: RequestDeps, { id, email }: Account): Promise<void> {
  if (!(await takeMailRoom(tx, 'noted', email))) return
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
  if (!(await takeVerificationRoom(tx, verificationsPerMinute))) throw new NoVerificationRoom()
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

/** Undefined: no mail is sent, since enough of them were. What is not sent takes no room. */
async function createAskedToken(
  tx: Db,
  purpose: 'verify-email' | 'reset-password',
  { id: userId, email, password_hash }: Account,
): Promise<string | undefined> {
  const wanted = { purpose, userId, ...(purpose === 'verify-email' && { passwordHash: password_hash }) }
  const isFree = (await canHaveToken(tx, wanted)) && (await takeMailRoom(tx, 'asked', email))
  return isFree ? createMailToken(tx, wanted) : undefined
}
