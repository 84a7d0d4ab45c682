import { MatteError } from '@matte/core/error'
import { createRefund } from '@matte/core/payment/refunds'
import { findOrderBy } from '@matte/core/payment/rows/order-queries'
import { type Command, CommandError, UsageError } from '../command.ts'
import { required, requiredUuid, wholeNumber } from '../options.ts'

const reasonLengthMax = 500

const refund: Command = {
  name: 'refund',
  usage: '--order ID [--amount N] --reason TEXT',
  summary:
    'pay an order back, at most the share of its credits that are left: all of that, or N in the minor unit of the ' +
    'currency; needs the settings of payments and MASTER_KEYS as the API has them',
  options: ['order', 'amount', 'reason'],
  run: async ({ db, payments }, given) => {
    const orderId = requiredUuid(given, 'order').toLowerCase()
    const reason = required(given, 'reason')
    if (reason.length > reasonLengthMax) throw new UsageError(`--reason must have 1 to ${reasonLengthMax} characters`)
    const { amount: text } = given.values
    const amount =
      text === undefined ? undefined : wholeNumber(text, 'amount', { min: 1, max: Number.MAX_SAFE_INTEGER })
    const order = await findOrderBy(db, 'id', orderId)
    if (order === undefined) throw new CommandError(`there is no order ${orderId}`)
    const { workspace_id: workspaceId } = order
    const wanted = { workspaceId, orderId, amount, reason, userId: null, once: undefined }
    const made = await createRefund(await payments(), wanted).catch((error: unknown) => {
      throw error instanceof MatteError ? new CommandError(error.message) : error
    })
    const { id, status, credits, currency } = made
    return { refundId: id, orderId, workspaceId, status, amount: made.amount, currency, credits }
  },
}

export const refundCommands: readonly Command[] = [refund]
