// Argon2id with 19 MiB and 2 passes. A hash takes 19 MiB and a core for some 10 ms; `atOnce` bounds both. A turn also
// covers the queries around the hash, so hundreds of logins do not crowd the database before the first is hashed. Turns
// are fair by network, client and account (A148).

import { hashAddress } from '@matte/core/address'
import { MatteError } from '@matte/core/error'
import { hash, type Options, verify as verifyHash } from '@node-rs/argon2'
import { fairTurns, type TurnOwner } from './fair-turns.ts'

export type PasswordHasher = {
  /** Hash in PHC form; the salt is random by default. @throws MatteError RATE_LIMIT_EXCEEDED if too many wait */
  hash(owner: TurnOwner, password: string, salt?: Buffer): Promise<string>
  /** Runs `act` in its turn. @throws MatteError RATE_LIMIT_EXCEEDED if too many wait; `act` was not called */
  inTurn<T>(owner: TurnOwner, act: (verify: Verify) => Promise<T>): Promise<T>
  counts(): { readonly running: number; readonly waiting: number }
}

/** Returns false for a wrong password. `null`, for unknown accounts, takes as long as a stored hash. */
export type Verify = (stored: string | null, password: string) => Promise<boolean>

type HasherOptions = {
  readonly atOnce: number
  readonly waitingMax: number
  readonly observeHash?: (seconds: number) => void
  readonly countRefused?: () => void
}

/** Argon2id (2), 19 MiB, two passes, one lane. Type stripping does not support the package's const enum. */
const parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const satisfies Options

/** Matches no password; verifying against it takes as long as against a stored hash. */
const dummyHash = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`

const normalize = (password: string): string => password.normalize('NFKC')

export function passwordHasher(options: HasherOptions): PasswordHasher {
  const { atOnce, waitingMax, observeHash, countRefused } = options
  const refuse = (): MatteError => {
    countRefused?.()
    return tooManyWait()
  }
  const turns = fairTurns({ atOnce, waitingMax, refuse })
  const observed = async <T>(work: () => Promise<T>): Promise<T> => {
    const begun = performance.now()
    const result = await work()
    observeHash?.((performance.now() - begun) / 1_000)
    return result
  }
  const hashPassword = (password: string, salt?: Buffer): Promise<string> =>
    observed(() => hash(normalize(password), { ...parameters, ...(salt && { salt }) }))
  const verify: Verify = (stored, password) => observed(() => verifyPassword(stored, password))
  return {
    hash: (owner, password, salt) => turns.run(owner, () => hashPassword(password, salt)),
    inTurn: (owner, act) => turns.run(owner, () => act(verify)),
    counts: turns.counts,
  }
}

async function verifyPassword(stored: string | null, password: string): Promise<boolean> {
  const matches = await verifyHash(stored ?? dummyHash, normalize(password))
  return stored !== null && matches
}

const tooManyWait = (): MatteError =>
  new MatteError('RATE_LIMIT_EXCEEDED', 'Too many sign-ins are in progress. Try again soon.', {
    details: { limit: 'capacity' },
  })

export type PasswordClient = Pick<TurnOwner, 'network' | 'client'>

/** Turns of a signed-in user or a mailed link. They count apart from logins, so strangers cannot use them up. */
export const turnOfPerson = ({ network, client }: PasswordClient, userId: string): TurnOwner => ({
  network,
  client,
  account: `person:${userId}`,
})

/** Turns of a client that names an address, whether or not it has an account. */
export const turnOfAddress = ({ network, client }: PasswordClient, address: string): TurnOwner => ({
  network,
  client,
  account: `address:${hashAddress(address).toString('base64')}`,
})
