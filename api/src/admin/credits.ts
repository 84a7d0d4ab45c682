import { adjustCredits } from '@matte/core/credit/adjust-credits'
import { readBalance } from '@matte/core/credit/balance'
import { grantCredits } from '@matte/core/credit/lot-queries'
import { findWorkspace } from '@matte/core/workspace/workspace-queries'
import { type Command, CommandError, UsageError } from './command.ts'
import { instant, required, requiredUuid, shortText, wholeNumber } from './options.ts'

/** Maximum per grant; far below the column's 2^31, so sums fit too. */
export const creditsMax = 1_000_000_000

const grant: Command = {
  name: 'credits grant',
  usage: '--workspace ID --credits N [--expires-at TIME] [--priority 0-100] [--source NAME]',
  summary:
    'add credits; lower priorities are spent first (50 by default), then earlier expiries; the same --source ' +
    'grants once',
  changes: true,
  run: async ({ change }, given) => {
    const workspaceId = requiredUuid(given, 'workspace')
    const credits = wholeNumber(required(given, 'credits'), 'credits', { min: 1, max: creditsMax })
    const { 'expires-at': expiry, priority: rank, source } = given.values
    const expiresAt = expiry === undefined ? null : futureInstant(expiry)
    const priority = rank === undefined ? 50 : wholeNumber(rank, 'priority', { min: 0, max: 100 })
    if (source !== undefined && (source === '' || source.length > 255)) {
      throw new UsageError('--source must have 1 to 255 characters')
    }
    const wanted = { workspaceId, kind: 'grant', amount: credits, expiresAt, priority, source: source ?? null }
    const lot = await change({ workspaceId, target: workspaceId }, async (tx) => {
      const granted = await grantCredits(tx, wanted)
      if (granted === undefined) throw new CommandError(`there is no workspace ${workspaceId}`)
      return granted
    })
    return { workspaceId, lotId: lot.lotId, credits, expiresAt: expiresAt?.toISOString() ?? null, priority }
  },
}

function futureInstant(text: string): Date {
  const time = instant(text, 'expires-at')
  if (time.getTime() <= Date.now()) throw new UsageError('--expires-at must be in the future')
  return time
}

const adjust: Command = {
  name: 'credits adjust',
  usage: '--workspace ID --amount=±N --reason TEXT --reference NAME',
  summary:
    'correct the credits of a workspace: add a lot without expiry, or remove available credits (never held ' +
    'ones); the reason is shown in the ledger; the same --reference adjusts once',
  changes: true,
  run: async ({ db, change }, given) => {
    const workspaceId = requiredUuid(given, 'workspace')
    const amount = signedNumber(required(given, 'amount'))
    const reason = shortText(given, 'reason', 500)
    const reference = shortText(given, 'reference', 255)
    const wanted = { workspaceId, amount, reason, reference }
    const made = await change({ workspaceId, target: workspaceId }, async (tx) => {
      const adjusted = await adjustCredits(tx, wanted)
      if (adjusted === undefined) throw new CommandError(`there is no workspace ${workspaceId}`)
      return adjusted
    })
    const { available } = await readBalance(db, workspaceId)
    return { workspaceId, adjustmentId: made.adjustmentId, amount, available }
  },
}

function signedNumber(text: string): number {
  const negative = text.startsWith('-')
  const number = wholeNumber(text.replace(/^[+-]/, ''), 'amount', { min: 1, max: creditsMax })
  return negative ? -number : number
}

const balance: Command = {
  name: 'credits balance',
  usage: '--workspace ID',
  summary: 'show the credits of a workspace: available, held by open tasks, total, expiring within 7 days',
  run: async ({ db }, given) => {
    const workspaceId = requiredUuid(given, 'workspace')
    if ((await findWorkspace(db, workspaceId)) === undefined) {
      throw new CommandError(`there is no workspace ${workspaceId}`)
    }
    const { soonUntil: _soonUntil, ...counts } = await readBalance(db, workspaceId)
    return { workspaceId, ...counts }
  },
}

export const creditsCommands: readonly Command[] = [grant, adjust, balance]
