import { findWorkspace } from '@matte/core/workspace/workspace-queries'
import { findOrderBy } from '@matte/people/payment/order-queries'
import { createRefund } from '@matte/people/payment/refunds'
import { endSubscriptions } from '@matte/people/payment/subscriptions'
import { type Command, CommandError, UsageError } from './command.ts'
import { required, requiredUuid, wholeNumber } from './options.ts'

const reasonLengthMax = 500

const refund: Command = {
  name: 'refund',
  usage: '--order ID [--amount N] --reason TEXT',
  summary:
    'refund an order: the share of its unspent credits, or N of it in the minor unit of the currency; needs the ' +
    'payment settings and MASTER_KEYS of the API',
  changes: true,
  run: async ({ db, auditOf, payments }, given) => {
    const orderId = requiredUuid(given, 'order').toLowerCase()
    const reason = required(given, 'reason')
    if (reason.length > reasonLengthMax) throw new UsageError(`--reason must have 1 to ${reasonLengthMax} characters`)
    const { amount: text } = given.values
    const amount =
      text === undefined ? undefined : wholeNumber(text, 'amount', { min: 1, max: Number.MAX_SAFE_INTEGER })
    const order = await findOrderBy(db, 'id', orderId)
    if (order === undefined) throw new CommandError(`there is no order ${orderId}`)
    const { workspace_id: workspaceId } = order
    const audit = auditOf({ workspaceId, target: orderId })
    const wanted = { workspaceId, orderId, amount, reason, userId: null, once: undefined, audit }
    const made = await createRefund(await payments(), wanted)
    const { id, status, credits, currency } = made
    return { refundId: id, orderId, workspaceId, status, amount: made.amount, currency, credits }
  },
}

export const refundCommands: readonly Command[] = [refund]

const end: Command = {
  name: 'subscription end',
  usage: '--workspace ID --yes',
  summary:
    'end the subscription of a workspace at its provider immediately, without a refund; open charges can no ' +
    'longer be paid; needs the payment settings and MASTER_KEYS of the API',
  changes: true,
  run: async ({ db, auditOf, payments }, given) => {
    const workspaceId = requiredUuid(given, 'workspace')
    if (!given.yes) throw new UsageError('--yes is needed: an ended subscription cannot be resumed')
    if ((await findWorkspace(db, workspaceId)) === undefined) {
      throw new CommandError(`there is no workspace ${workspaceId}`)
    }
    const ended = await endSubscriptions(await payments(), workspaceId, auditOf({ workspaceId }))
    const { plan } = (await findWorkspace(db, workspaceId)) ?? {}
    return { workspaceId, ended, plan: plan ?? null }
  },
}

export const subscriptionCommands: readonly Command[] = [end]
