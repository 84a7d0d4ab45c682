import { resealSecrets } from '@matte/core/webhook/endpoint/reseal-secrets'
import { type Command, CommandError } from '../command.ts'

const reseal: Command = {
  name: 'secrets reseal',
  usage: '',
  summary: 'seal under the first of MASTER_KEYS what another one sealed, so that the others can be taken out',
  options: [],
  run: async ({ db, masterKeys }) => {
    if (masterKeys === undefined) throw new CommandError('MASTER_KEYS is not set: run this where the API runs')
    const [sealedBy] = masterKeys.keys()
    const { resealed, kept, reasons } = await resealSecrets(db, masterKeys)
    if (kept > 0) {
      throw new CommandError(`${resealed} were sealed again, ${kept} stay as they are: ${reasons.join('; ')}`)
    }
    return { resealed, sealedBy }
  },
}

export const secretsCommands: readonly Command[] = [reseal]
