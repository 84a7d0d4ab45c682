import { resealSecrets } from '@matte/core/webhook/endpoint/reseal-secrets'
import { rotateSigningKeys } from '@matte/people/identity/session/signing-keys'
import { type Command, CommandError } from './command.ts'

const reseal: Command = {
  name: 'secrets reseal',
  usage: '',
  summary: 'seal every secret with the first master key, so the other keys can be removed',
  changes: true,
  run: async ({ db, change, masterKeys }) => {
    if (masterKeys === undefined)
      throw new CommandError('MASTER_KEYS or MASTER_KEYS_FILE is not set: run this in a pod of the API')
    const [sealedBy] = masterKeys.keys()
    await change({ target: sealedBy ?? null }, async () => undefined) // before the many transactions that follow
    const { resealed, kept, reasons } = await resealSecrets(db, masterKeys)
    if (kept > 0) {
      throw new CommandError(`${resealed} secrets were resealed, ${kept} were not: ${reasons.join('; ')}`)
    }
    return { resealed, sealedBy }
  },
}

export const secretsCommands: readonly Command[] = [reseal]

const rotate: Command = {
  name: 'signing-key rotate',
  usage: '',
  summary: 'sign access tokens with the next key; the previous key verifies until its last token has expired',
  changes: true,
  run: async ({ change, masterKeys }) => {
    if (masterKeys === undefined)
      throw new CommandError('MASTER_KEYS or MASTER_KEYS_FILE is not set: run this in a pod of the API')
    return change({}, async (tx) => {
      const rotated = await rotateSigningKeys(tx, masterKeys)
      if (rotated !== undefined) return rotated
      throw new CommandError('the next key must be published for 10 minutes before it signs; try again later')
    })
  },
}

export const signingKeyCommands: readonly Command[] = [rotate]
