import { hashAddress } from '../../address.ts'
import type { TurnOwner } from '../../runtime/concurrency/fair-turns.ts'

/** Client that sends a password: its address as failures are counted by, and the network around it. */
export type PasswordClient = Pick<TurnOwner, 'network' | 'client'>

/**
 * Turns of a signed-in person, or of the holder of a link by mail. They count apart from logins under the person's
 * address, so strangers cannot use them up.
 */
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
