// Argon2id with the parameters of D15, in turns: a hash takes 19 MiB and a core for some 10 ms, so that `atOnce` bounds
// both what logins take of memory (19 MiB × atOnce) and what they leave to everything else. A turn holds for what comes
// before and after the hash too, so that hundreds of logins do not crowd the database before the first is hashed. Turns
// are fair by network, client and account (A148).
import { hash, type Options, verify as verifyHash } from '@node-rs/argon2'
import { MatteError } from '../../error.ts'
import { fairTurns, type TurnOwner } from '../../runtime/concurrency/fair-turns.ts'

export type PasswordHasher = {
  /**
   * PHC form, as it is stored, with a random salt unless one is given; takes a turn.
   * @throws MatteError RATE_LIMIT_EXCEEDED when too many wait
   */
  hash(owner: TurnOwner, password: string, salt?: Buffer): Promise<string>
  /**
   * Does what judges a password, when it is its turn.
   * @throws MatteError RATE_LIMIT_EXCEEDED when too many wait; nothing was begun then
   */
  inTurn<T>(owner: TurnOwner, act: (verify: Verify) => Promise<T>): Promise<T>
  /** Now, for the metrics. */
  counts(): { readonly running: number; readonly waiting: number }
}

/** False for a wrong password, and for none (`null`, where there is no account) after the same work. */
export type Verify = (stored: string | null, password: string) => Promise<boolean>

type HasherOptions = {
  readonly atOnce: number
  readonly waitingMax: number
  /** Called with the seconds of each hash. */
  readonly observeHash?: (seconds: number) => void
  /** Called for each that is refused. */
  readonly countRefused?: () => void
}

/** Argon2id (2), 19 MiB, two passes, one lane. The package's enum is of a kind that type stripping cannot take. */
const parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const satisfies Options

/**
 * Of no password: its base64 parts are as long as those of a real one. Verifying against it takes what verifying
 * against a stored one takes.
 */
const nobodysHash = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`

/** The same characters, however a keyboard composed them. */
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
  const matches = await verifyHash(stored ?? nobodysHash, normalize(password))
  return stored !== null && matches
}

const tooManyWait = (): MatteError =>
  new MatteError('RATE_LIMIT_EXCEEDED', 'More people sign in than the service can take; try again soon.', {
    details: { limit: 'capacity' },
  })
