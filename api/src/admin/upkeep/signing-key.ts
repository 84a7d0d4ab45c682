import { rotateSigningKeys } from '@matte/core/identity/signing-keys'
import { type Command, CommandError } from '../command.ts'

const rotate: Command = {
  name: 'signing-key rotate',
  usage: '',
  summary: 'sign access tokens with the key that waits; the former verifies on until its last token has ended',
  options: [],
  run: async ({ db, masterKeys }) => {
    if (masterKeys === undefined) throw new CommandError('MASTER_KEYS is not set: run this where the API runs')
    const rotated = await rotateSigningKeys(db, masterKeys)
    if (rotated === undefined) {
      throw new CommandError('no key has waited for 10 minutes, so that somebody may not know it yet: try again then')
    }
    return rotated
  },
}

export const signingKeyCommands: readonly Command[] = [rotate]
