import { grantCredits } from '@matte/core/credit/lot-queries'
import { type Command, CommandError, required, requiredUuid, wholeNumber } from './command.ts'

/** Credits of one grant: far from the column's 2^31, so that sums stay below it too. */
export const creditsMax = 1_000_000_000

const grant: Command = {
  name: 'credits grant',
  usage: '--workspace ID --credits N',
  summary: 'add credits that do not expire',
  options: ['workspace', 'credits'],
  run: async ({ db }, given) => {
    const workspaceId = requiredUuid(given, 'workspace')
    const credits = wholeNumber(required(given, 'credits'), 'credits', 1, creditsMax)
    const lot = await grantCredits(db, { workspaceId, kind: 'grant', amount: credits })
    if (lot === undefined) throw new CommandError(`there is no workspace ${workspaceId}`)
    return { workspaceId, lotId: lot.lotId, credits }
  },
}

export const creditsCommands: readonly Command[] = [grant]
